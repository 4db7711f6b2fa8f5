#include <algorithm>

#include "tests/differential/check.h"

namespace minigpt::differential {
namespace {

bool fails(const Expression& e) {
  Statistics ignored;
  return check_expression(e, ignored).has_value();
}

// Without what no root depends on.
Expression pruned(Expression e) {
  std::vector<bool> needed(static_cast<std::size_t>(e.values), false);
  for (const Root& root : e.roots) needed[static_cast<std::size_t>(root.value)] = true;
  const auto is_needed = [&](int v) { return v >= 0 && needed[static_cast<std::size_t>(v)]; };
  for (auto step = e.steps.rbegin(); step != e.steps.rend(); ++step) {
    if (std::none_of(step->results.begin(), step->results.end(), is_needed)) continue;
    for (int o : step->operands)
      if (o >= 0) needed[static_cast<std::size_t>(o)] = true;
  }
  std::erase_if(e.steps,
                [&](const Step& s) { return std::none_of(s.results.begin(), s.results.end(), is_needed); });
  std::erase_if(e.leaves, [&](const Leaf& l) { return !is_needed(l.value); });
  if (!e.leaves.empty() &&
      std::none_of(e.leaves.begin(), e.leaves.end(), [](const Leaf& l) { return l.wants_gradient; }))
    e.leaves.front().wants_gradient = true;
  return e;
}

// With a step's results as leaves.
Expression cut(const Expression& e, std::size_t step) {
  Tape tape;
  const std::vector<Array> arrays = evaluate(tape, e);
  Expression out = e;
  out.steps.erase(out.steps.begin() + static_cast<std::ptrdiff_t>(step));
  for (int r : e.steps[step].results) {
    const Array& a = arrays[static_cast<std::size_t>(r)];
    Leaf leaf{{a.shape, {}, DType::f32, {}}};
    leaf.value = r;
    for (Number n : a.at)
      leaf.stored.values.push_back(static_cast<double>(static_cast<float>(tape.value(n))));
    out.leaves.push_back(std::move(leaf));
  }
  return pruned(std::move(out));
}

// With the results of a step as the only roots.
Expression ended(const Expression& e, std::size_t step) {
  Tape tape;
  const std::vector<Array> arrays = evaluate(tape, e);
  Expression out = e;
  out.roots.clear();
  Draw draw(e.seed);
  for (int r : e.steps[step].results) {
    const Array& a = arrays[static_cast<std::size_t>(r)];
    Root root{r, {a.shape, {}, DType::f32, {}}};
    for (std::int64_t i = 0; i < a.numel(); ++i)
      root.gradient.values.push_back(static_cast<double>(static_cast<float>(draw.uniform(-1, 1))));
    out.roots.push_back(std::move(root));
  }
  return pruned(std::move(out));
}

std::vector<Expression> smaller_ones(const Expression& e) {
  std::vector<Expression> all;
  for (std::size_t i = 0; i < e.steps.size(); ++i) all.push_back(ended(e, i));
  for (std::size_t i = 0; e.roots.size() > 1 && i < e.roots.size(); ++i) {
    all.push_back(e);
    all.back().roots.erase(all.back().roots.begin() + static_cast<std::ptrdiff_t>(i));
    all.back() = pruned(std::move(all.back()));
  }
  for (std::size_t i = 0; i < e.steps.size(); ++i) all.push_back(cut(e, i));
  const auto with = [&](auto change) {
    all.push_back(e);
    change(all.back());
  };
  for (std::size_t i = 0; i < e.leaves.size(); ++i) {
    if (!e.leaves[i].stored.layout.plain()) with([&](Expression& x) { x.leaves[i].stored.layout = {}; });
    if (e.leaves[i].edit != Edit::none) with([&](Expression& x) { x.leaves[i].edit = Edit::none; });
  }
  for (std::size_t i = 0; i < e.roots.size(); ++i)
    if (!e.roots[i].gradient.layout.plain()) with([&](Expression& x) { x.roots[i].gradient.layout = {}; });
  if (e.bf16_products) with([](Expression& x) { x.bf16_products = false; });
  return all;
}

// Steps first, then whatever is unusual. Shrinking only ever lowers this.
std::size_t size_of(const Expression& e) {
  std::size_t size = 100 * e.steps.size() + 10 * e.roots.size() + 10 * e.leaves.size() + e.bf16_products;
  for (const Leaf& l : e.leaves) size += !l.stored.layout.plain() + (l.edit != Edit::none);
  for (const Root& r : e.roots) size += !r.gradient.layout.plain();
  return size;
}

}  // namespace

Expression shrink(const Expression& e) {
  Expression best = e;
  for (bool again = true; again;) {
    again = false;
    std::vector<Expression> candidates = smaller_ones(best);
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Expression& a, const Expression& b) { return size_of(a) < size_of(b); });
    for (const Expression& candidate : candidates) {
      if (candidate.leaves.empty() || size_of(candidate) >= size_of(best) || !fails(candidate)) continue;
      best = candidate;
      again = true;
      break;
    }
  }
  return best;
}

}  // namespace minigpt::differential
