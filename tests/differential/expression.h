#pragma once
// An expression: leaves, and operations on them and on earlier results.

#include <functional>
#include <string>
#include <vector>

#include "autograd/variable.h"
#include "tests/differential/stored.h"
#include "tests/differential/tape.h"

namespace minigpt::differential {

// The numbers of one value in row-major order, on a tape.
struct Array {
  Shape shape;
  std::vector<Number> at;
  bool defined = true;  // false: an operand that is left out

  Number operator[](std::int64_t n) const { return at[static_cast<std::size_t>(n)]; }
  std::int64_t numel() const { return static_cast<std::int64_t>(at.size()); }
  int rank() const { return shape.size(); }
  std::int64_t dim(int axis) const { return shape[axis < 0 ? axis + rank() : axis]; }
};

// What an operation takes besides its operands. What an entry means is known to the operation alone.
struct Attributes {
  std::vector<std::int64_t> ints;
  std::vector<double> reals;
  std::vector<Stored> tensors;  // indices, masks, constants

  int integer(std::size_t i) const { return static_cast<int>(ints[i]); }
  Dims dims(std::size_t from = 0) const {
    return Dims(ints.begin() + static_cast<std::ptrdiff_t>(from), ints.end());
  }
};

class Builder;

// One operation of the library, as the generator knows it.
struct Op {
  const char* header;  // of autograd/ops/
  const char* name;    // the function
  // Adds one or several steps with this operation to an expression.
  std::function<void(Builder&, const Op&)> propose;
  // The library's results. Operands that are left out are undefined.
  using Library = std::function<std::vector<Variable>(const std::vector<Variable>&, const Attributes&)>;
  Library library;
  // The same by its definition.
  std::function<std::vector<Array>(Tape&, const std::vector<Array>&, const Attributes&)> plain;
  // A second form of the same in the library: the composition of a fused operation. May be empty.
  Library composed;
};

// Every operation, in the order of the headers.
const std::vector<Op>& all_ops();
const Op& op_named(std::string_view name);

// Values are numbered: the leaves first, then the results of the steps in order.
struct Step {
  const Op* op = nullptr;
  std::vector<int> operands;  // numbers of values; -1: left out
  Attributes attributes;
  std::vector<int> results;
};

// How the values of a leaf get there.
enum class Edit { none, copied, filled_by_view, scaled, added };

struct Leaf {
  Stored stored;
  bool wants_gradient = true;
  Edit edit = Edit::none;
  int value = -1;
};

struct Root {
  int value = -1;
  Stored gradient;  // d(objective)/d(value)
};

struct Expression {
  std::uint64_t seed = 0;
  bool bf16_products = false;  // matrix products of float32 round their factors
  std::vector<Leaf> leaves;
  std::vector<Step> steps;
  std::vector<Root> roots;
  int values = 0;

  // One line for each leaf, step and root.
  std::string str() const;
};

// All values of an expression by the specification.
std::vector<Array> evaluate(Tape& tape, const Expression& e);

}  // namespace minigpt::differential
