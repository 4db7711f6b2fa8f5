#include "tools/zoo/mutant.h"

#include <algorithm>

#include "tools/zoo/families.h"

namespace minigpt::zoo {

// Families are mixed, so that a number's neighbours say nothing about it. Numbers stay: new ones come at the end.
const std::vector<const Mutant*>& mutants() {
  static const std::vector<const Mutant*> all = {&kSoftmaxDiagonal,
                                                 &kLeafOverwritten,
                                                 &kMulSameFactor,
                                                 &kEmbeddingOverwritten,
                                                 &kSquare,
                                                 &kBroadcastFirst,
                                                 &kMaximum,
                                                 &kLinearWeightTransposed,
                                                 &kFactorForgotten,
                                                 &kDropoutScale,
                                                 &kSkipDropped,
                                                 &kCosSign,
                                                 &kNormFirstMean,
                                                 &kRotaryForward,
                                                 &kDropoutMask,
                                                 &kSumAsMean,
                                                 &kInnerOverwritten,
                                                 &kLogOutput,
                                                 &kTieOverwritten,
                                                 &kRmsMean,
                                                 &kFusedSlope,
                                                 &kExpInput,
                                                 &kMlpSlope,
                                                 &kGatherOverwritten,
                                                 &kNormConstant,
                                                 &kConcatExchanged,
                                                 &kWeakMask,
                                                 &kMaskAfterSoftmax,
                                                 &kLossIgnored,
                                                 &kLastTextOnly,
                                                 &kReluLeaks,
                                                 &kQkNorm,
                                                 &kWeightBeforeNorm,
                                                 &kNormGainRaw,
                                                 &kMaxEveryone,
                                                 &kSigmoidInput,
                                                 &kWhere,
                                                 &kTransposeReshaped,
                                                 &kLogSoftmax,
                                                 &kTanhSquare,
                                                 &kFusedScaleForgotten,
                                                 &kMaskTurnedOver,
                                                 &kSiluProduct,
                                                 &kKeysForQueries,
                                                 &kSqrtTwo,
                                                 &kSoftmaxAxis,
                                                 &kVarianceTwo,
                                                 &kLossNoTarget,
                                                 &kSoftmaxNoSum,
                                                 &kMatmulTranspose,
                                                 &kBiasForgotten,
                                                 &kGeluOtherFormula,
                                                 &kBlindToItself,
                                                 &kSubSign,
                                                 &kMaskForgotten,
                                                 &kSliceShifted,
                                                 &kEmbeddingAveraged,
                                                 &kLossNotAveraged,
                                                 &kNormShift,
                                                 &kBiasAveraged,
                                                 &kDivDenominator,
                                                 &kLossSign,
                                                 &kAbsSign,
                                                 &kGeluProduct,
                                                 &kNormSecondMean,
                                                 &kPowExponent,
                                                 &kLinearInputSign,
                                                 &kSeesNext,
                                                 &kMeanWithoutN};
  return all;
}

const Mutant& mutant(std::int64_t number) {
  const auto count = static_cast<std::int64_t>(mutants().size());
  check(number >= 1 && number <= count, "zoo", "there is no fault {}; they are numbered 1 to {}", number,
        count);
  return *mutants()[static_cast<std::size_t>(number - 1)];
}

namespace {

// Is `op` one of the words of `list`?
bool listed(std::string_view list, std::string_view op) {
  if (list == "*") return true;
  for (std::size_t at = list.find(op); at != list.npos; at = list.find(op, at + 1)) {
    const std::size_t end = at + op.size();
    if ((at == 0 || list[at - 1] == ' ') && (end == list.size() || list[end] == ' ')) return true;
  }
  return false;
}

}  // namespace

Variable Planted::forward(const char* op, const Variable& y, std::span<const Variable> inputs) {
  if (!mutant_.forward || !listed(mutant_.at, op)) return y;
  return mutant_.forward({op, y, inputs, memory_});
}

void Planted::backward(Node& node, const Variable& dy, Grads& gradients) {
  if (!mutant_.backward || !listed(mutant_.at, node.op)) return;
  if (std::none_of(gradients.begin(), gradients.end(), [](const Variable& g) { return g.defined(); })) return;
  mutant_.backward({node, dy, gradients});
}

}  // namespace minigpt::zoo
