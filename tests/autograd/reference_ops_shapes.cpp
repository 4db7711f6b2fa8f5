#include "autograd/ops/concat.h"
#include "autograd/ops/expand.h"
#include "autograd/ops/gather.h"
#include "autograd/ops/index_select.h"
#include "autograd/ops/max.h"
#include "autograd/ops/mean.h"
#include "autograd/ops/permute.h"
#include "autograd/ops/reshape.h"
#include "autograd/ops/slice.h"
#include "autograd/ops/split.h"
#include "autograd/ops/squeeze.h"
#include "autograd/ops/stack.h"
#include "autograd/ops/sum.h"
#include "autograd/ops/transpose.h"
#include "autograd/ops/tril.h"
#include "autograd/ops/triu.h"
#include "autograd/ops/unsqueeze.h"
#include "autograd/ops/var.h"
#include "tests/autograd/reference_ops.h"

namespace minigpt::reference {
namespace {

using Outputs = std::vector<Variable>;

Outputs max_of(const OpCase& c) {
  if (!c.has("dim")) return {max(c.first())};
  const auto result = max(c.first(), c.integer("dim"), c.flag("keepdim"));
  return {result.values, Variable(result.indices)};
}

Outputs split_of(const OpCase& c) {
  const nlohmann::json& pieces = c.attrs.at("split");
  if (pieces.is_number()) return split(c.first(), pieces.get<std::int64_t>(), c.integer("dim"));
  return split(c.first(), pieces.get<std::vector<std::int64_t>>(), c.integer("dim"));
}

}  // namespace

OpTable shape_ops() {
  return {
      {"sum", [](const OpCase& c) { return Outputs{sum(c.first(), c.dims("dim"), c.flag("keepdim"))}; }},
      {"mean", [](const OpCase& c) { return Outputs{mean(c.first(), c.dims("dim"), c.flag("keepdim"))}; }},
      {"var",
       [](const OpCase& c) {
         return Outputs{var(c.first(), c.dims("dim"), c.integer("correction"), c.flag("keepdim"))};
       }},
      {"max", max_of},
      {"transpose",
       [](const OpCase& c) { return Outputs{transpose(c.first(), c.integer("dim0"), c.integer("dim1"))}; }},
      {"permute", [](const OpCase& c) { return Outputs{permute(c.first(), c.dims("dims"))}; }},
      {"reshape", [](const OpCase& c) { return Outputs{reshape(c.first(), c.dims("shape"))}; }},
      {"expand", [](const OpCase& c) { return Outputs{expand(c.first(), c.dims("shape"))}; }},
      {"slice",
       [](const OpCase& c) {
         return Outputs{
             slice(c.first(), c.integer("dim"), c.integer("start"), c.integer("end"), c.integer("step"))};
       }},
      {"cat", [](const OpCase& c) { return Outputs{concat(c.inputs, c.integer("dim"))}; }},
      {"stack", [](const OpCase& c) { return Outputs{stack(c.inputs, c.integer("dim"))}; }},
      {"split", split_of},
      {"squeeze",
       [](const OpCase& c) {
         return Outputs{c.has("dim") ? squeeze(c.first(), c.integer("dim")) : squeeze(c.first())};
       }},
      {"unsqueeze", [](const OpCase& c) { return Outputs{unsqueeze(c.first(), c.integer("dim"))}; }},
      {"tril", [](const OpCase& c) { return Outputs{tril(c.first(), c.integer("diagonal"))}; }},
      {"triu", [](const OpCase& c) { return Outputs{triu(c.first(), c.integer("diagonal"))}; }},
      {"index_select",
       [](const OpCase& c) { return Outputs{index_select(c["x"], c.integer("dim"), c.constant("index"))}; }},
      {"gather",
       [](const OpCase& c) { return Outputs{gather(c["x"], c.integer("dim"), c.constant("index"))}; }},
  };
}

}  // namespace minigpt::reference
