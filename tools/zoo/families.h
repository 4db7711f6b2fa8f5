#pragma once
// The mutants, each in the file of its family.

#include "tools/zoo/mutant.h"

namespace minigpt::zoo {

// activation.cpp
extern const Mutant kGeluOtherFormula, kGeluProduct, kReluLeaks, kSiluProduct, kTanhSquare, kSigmoidInput,
    kDropoutMask, kDropoutScale;
// attention.cpp
extern const Mutant kSoftmaxDiagonal, kSoftmaxNoSum, kSoftmaxAxis, kFactorForgotten, kFusedScaleForgotten,
    kKeysForQueries, kQkNorm;
// choice.cpp
extern const Mutant kCosSign, kAbsSign, kMaximum, kWhere, kMaxEveryone;
// elementwise.cpp
extern const Mutant kSubSign, kMulSameFactor, kSquare, kDivDenominator, kPowExponent, kExpInput, kLogOutput,
    kSqrtTwo;
// engine.cpp
extern const Mutant kInnerOverwritten, kLeafOverwritten;
// loss.cpp
extern const Mutant kLossNoTarget, kLossNotAveraged, kLossSign, kLossIgnored, kLogSoftmax;
// mask.cpp
extern const Mutant kMaskAfterSoftmax, kSeesNext, kBlindToItself, kMaskTurnedOver, kWeakMask, kMaskForgotten;
// matrix.cpp
extern const Mutant kMatmulTranspose, kLinearWeightTransposed, kBiasAveraged, kBiasForgotten, kLastTextOnly,
    kLinearInputSign, kMlpSlope, kFusedSlope;
// normalisation.cpp
extern const Mutant kNormFirstMean, kNormSecondMean, kNormConstant, kNormGainRaw, kNormShift, kRmsMean,
    kWeightBeforeNorm;
// reductions.cpp
extern const Mutant kMeanWithoutN, kSumAsMean, kVarianceTwo;
// shapes.cpp
extern const Mutant kSliceShifted, kTransposeReshaped, kConcatExchanged, kBroadcastFirst, kSkipDropped,
    kRotaryForward;
// tables.cpp
extern const Mutant kEmbeddingOverwritten, kEmbeddingAveraged, kTieOverwritten, kGatherOverwritten;

}  // namespace minigpt::zoo
