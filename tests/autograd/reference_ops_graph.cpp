// Expressions of the `graph` cases, read and built.
//
//   program    = [count "times"] statement {";" statement}
//   statement  = [name "="] sum            the value of the last one is the result
//   sum        = product {("+" | "-") product}
//   product    = factor {"*" factor}
//   factor     = number | "(" sum ")" | name | name "(" argument {"," argument} ")"
//   argument   = sum | "[" integers "]" | "dim" integer | "keepdim"

#include <cctype>

#include "autograd/ops/add.h"
#include "autograd/ops/exp.h"
#include "autograd/ops/matmul.h"
#include "autograd/ops/mul.h"
#include "autograd/ops/relu.h"
#include "autograd/ops/reshape.h"
#include "autograd/ops/sigmoid.h"
#include "autograd/ops/slice.h"
#include "autograd/ops/sub.h"
#include "autograd/ops/sum.h"
#include "autograd/ops/tanh.h"
#include "autograd/ops/transpose.h"
#include "tests/autograd/reference_ops.h"

namespace minigpt::reference {
namespace {

// A value while reading: a variable, or a plain number (variable undefined).
struct Value {
  Variable variable;
  double number = 0;
};

struct Arguments {
  std::vector<Value> values;
  Dims list;  // [2, 3]
  Dims dim;   // dim 0
  bool keepdim = false;
  const Variable& x(std::size_t i = 0) const { return values.at(i).variable; }
  int n(std::size_t i) const { return static_cast<int>(values.at(i).number); }
};

Value call(const std::string& name, const Arguments& a) {
  if (name == "tanh") return {tanh(a.x())};
  if (name == "exp") return {exp(a.x())};
  if (name == "relu") return {relu(a.x())};
  if (name == "sigmoid") return {sigmoid(a.x())};
  if (name == "detach") return {a.x().detach()};
  if (name == "matmul") return {matmul(a.x(0), a.x(1))};
  if (name == "transpose") return {transpose(a.x(), a.n(1), a.n(2))};
  if (name == "slice") return {slice(a.x(), a.n(1), a.n(2), a.n(3))};
  if (name == "reshape") return {reshape(a.x(), a.list)};
  if (name == "sum") return {a.dim.empty() ? sum(a.x()) : sum(a.x(), a.dim, a.keepdim)};
  fail("reference", "unknown function in an expression: {}", name);
}

Value combine(char op, const Value& a, const Value& b) {
  const bool va = a.variable.defined(), vb = b.variable.defined();
  if (!va && !vb)
    return {Variable(), op == '+'   ? a.number + b.number
                        : op == '-' ? a.number - b.number
                                    : a.number * b.number};
  if (op == '*')
    return {va && vb ? a.variable * b.variable : va ? a.variable * b.number : b.variable * a.number};
  if (va && vb) return {op == '+' ? a.variable + b.variable : a.variable - b.variable};
  if (va) return {a.variable + (op == '+' ? b.number : -b.number)};
  return {(op == '+' ? b.variable : b.variable * -1.0) + a.number};
}

class Reader {
 public:
  Reader(const std::string& text, std::map<std::string, Value>& names) : text_(text), names_(names) {}

  Value program() {
    Value last;
    do {
      const std::size_t start = at_;
      const std::string name = word();
      if (!name.empty() && take('=')) {
        last = names_[name] = sum_of_products();
      } else {
        at_ = start;
        last = sum_of_products();
      }
    } while (take(';'));
    check(peek() == '\0', "reference", "cannot read the expression from character {}: {}", at_, text_);
    return last;
  }

 private:
  char peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  std::string word() {
    std::string out;
    if (!std::isalpha(static_cast<unsigned char>(peek()))) return out;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      out += text_[at_++];
    return out;
  }
  double plain_number() {
    peek();
    std::size_t used = 0;
    const double value = std::stod(text_.substr(at_), &used);
    at_ += used;
    return value;
  }

  Value sum_of_products() {
    Value left = product();
    for (char op = peek(); op == '+' || op == '-'; op = peek()) {
      ++at_;
      left = combine(op, left, product());
    }
    return left;
  }
  Value product() {
    Value left = factor();
    while (take('*')) left = combine('*', left, factor());
    return left;
  }
  Value factor() {
    if (take('(')) {
      Value inner = sum_of_products();
      check(take(')'), "reference", "a bracket is not closed: {}", text_);
      return inner;
    }
    const std::string name = word();
    if (name.empty()) return {Variable(), plain_number()};
    if (take('(')) return call(name, arguments());
    const auto found = names_.find(name);
    check(found != names_.end(), "reference", "unknown name {} in {}", name, text_);
    return found->second;
  }
  Arguments arguments() {
    Arguments a;
    do {
      const std::size_t start = at_;
      if (take('[')) {
        if (!take(']')) {
          do a.list.push_back(static_cast<std::int64_t>(plain_number()));
          while (take(','));
          check(take(']'), "reference", "a list is not closed: {}", text_);
        }
        continue;
      }
      const std::string name = word();
      if (name == "keepdim") {
        a.keepdim = true;
      } else if (name == "dim") {
        a.dim.push_back(static_cast<std::int64_t>(plain_number()));
      } else {
        at_ = start;
        a.values.push_back(sum_of_products());
      }
    } while (take(','));
    check(take(')'), "reference", "a call is not closed: {}", text_);
    return a;
  }

  const std::string& text_;
  std::map<std::string, Value>& names_;
  std::size_t at_ = 0;
};

}  // namespace

Variable build_expression(const std::string& text, const OpCase& inputs) {
  std::map<std::string, Value> names;
  for (std::size_t i = 0; i < inputs.inputs.size(); ++i) names[inputs.names[i]] = {inputs.inputs[i]};
  // "60 times x=..." runs the rest that often.
  long repetitions = 1;
  std::string body = text;
  if (const std::size_t times = text.find(" times "); times != std::string::npos) {
    repetitions = std::stol(text.substr(0, times));
    body = text.substr(times + 7);
  }
  Value result;
  for (long i = 0; i < repetitions; ++i) result = Reader(body, names).program();
  check(result.variable.defined(), "reference", "the expression gives no tensor: {}", text);
  return result.variable;
}

}  // namespace minigpt::reference
