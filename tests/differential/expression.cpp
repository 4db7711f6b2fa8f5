#include "tests/differential/expression.h"

namespace minigpt::differential {
namespace {

const char* name_of_edit(Edit edit) {
  switch (edit) {
    case Edit::none:
      return "";
    case Edit::copied:
      return ", written by copy_";
    case Edit::filled_by_view:
      return ", written through a view";
    case Edit::scaled:
      return ", halved in place";
    case Edit::added:
      return ", added to in place";
  }
  return "";
}

std::string describe(const Stored& x) {
  const std::string layout = x.layout.str();
  return fmt::format("{}{}{}{}", x.shape.str(), layout.empty() ? "" : " [", layout,
                     layout.empty() ? "" : "]");
}

}  // namespace

std::string Expression::str() const {
  std::string text =
      fmt::format("seed {}{}\n", seed, bf16_products ? ", factors of float32 products in bf16" : "");
  for (const Leaf& leaf : leaves)
    text += fmt::format("  v{} = leaf {}{}{}\n", leaf.value, describe(leaf.stored),
                        leaf.wants_gradient ? "" : ", constant", name_of_edit(leaf.edit));
  for (const Step& step : steps) {
    std::string results, arguments;
    for (int r : step.results) results += fmt::format("{}v{}", results.empty() ? "" : ", ", r);
    const auto argument = [&](const std::string& a) { arguments += (arguments.empty() ? "" : ", ") + a; };
    for (int o : step.operands) argument(o < 0 ? "-" : fmt::format("v{}", o));
    for (std::int64_t i : step.attributes.ints) argument(fmt::format("{}", i));
    for (double r : step.attributes.reals) argument(fmt::format("{:g}", r));
    for (const Stored& t : step.attributes.tensors)
      argument(fmt::format("{} {}", minigpt::name_of(t.dtype), describe(t)));
    text += fmt::format("  {} = {}({})\n", results, step.op->name, arguments);
  }
  for (const Root& root : roots)
    text += fmt::format("  root v{}, gradient {}\n", root.value, describe(root.gradient));
  return text;
}

std::vector<Array> evaluate(Tape& tape, const Expression& e) {
  std::vector<Array> values(static_cast<std::size_t>(e.values));
  for (const Leaf& leaf : e.leaves) {
    Array a{leaf.stored.shape, {}};
    for (double v : leaf.stored.values) a.at.push_back(tape.constant(v));
    values[static_cast<std::size_t>(leaf.value)] = std::move(a);
  }
  for (const Step& step : e.steps) {
    std::vector<Array> operands;
    for (int o : step.operands)
      operands.push_back(o < 0 ? Array{{}, {}, false} : values[static_cast<std::size_t>(o)]);
    std::vector<Array> results = step.op->plain(tape, operands, step.attributes);
    for (std::size_t i = 0; i < results.size(); ++i)
      values[static_cast<std::size_t>(step.results[i])] = std::move(results[i]);
  }
  return values;
}

}  // namespace minigpt::differential
