#pragma once
// The zoo of wrong backwards: mistakes that people make in engines like this one, each as a small function that can be
// planted and taken out again (autograd/replace.h). The operations themselves hold none of it.
//
// Each file beside this one keeps a family of them. An entry shows the right line, the wrong line, what one sees in
// training and how one finds it; the function next to it is the mistake.

#include <span>
#include <string_view>
#include <vector>

#include "autograd/ops.h"
#include "autograd/replace.h"

namespace minigpt::zoo {

// The same sentence in both languages.
struct Text {
  const char* en;
  const char* zh;
};

// A node whose backward function has just run: what it read, and what it gave.
struct Step {
  Node& node;
  const Variable& dy;
  Grads& grads;  // right until the mistake changes them

  Variable input(int i) const { return Saved(node).input(i); }
  Variable output() const { return Saved(node).output(); }
  Variable other(int i = 0) const { return Variable(Saved(node).other(i)); }
  const Shape& shape(int i) const { return node.inputs[i].shape; }
  bool has(int i) const { return i < grads.size() && grads[i].defined(); }
};

// An operation that has just run. `memory` is one tensor that a mistake may keep from one operation to another.
struct Call {
  std::string_view op;
  const Variable& y;
  std::span<const Variable> inputs;
  Tensor& memory;
};

// What is trained when the fault is shown.
enum class Task {
  gpt,    // a small GPT, written out in elementary operations
  fused,  // the same with its fused operations
  net,    // a small classifier that uses most of the other operations (tools/zoo/net.h)
};

struct Mutant {
  std::string_view at;  // the operations it is planted in, "*" for all
  Task task = Task::gpt;
  const char* settings = "{}";  // what the GPT needs beyond the usual, as in config.json
  Text title;                   // what one sees, without the cause
  const char* right;
  const char* wrong;
  Text find;  // how it shows, and what finds it
  // What an answer must name: the operation in one of these ways, and the fault: of every group (separated by &) one word
  // or its beginning (separated by |).
  const char* names;
  const char* fault;
  void (*backward)(const Step& step) = nullptr;
  Variable (*forward)(const Call& call) = nullptr;
};

// All of them; their numbers count from 1.
const std::vector<const Mutant*>& mutants();
// Throws Error, naming the range, for a number that is none.
const Mutant& mutant(std::int64_t number);

// While alive, the fault is there, in this thread.
class Planted : public Replacement {
 public:
  explicit Planted(const Mutant& mutant) : mutant_(mutant) {}
  Variable forward(const char* op, const Variable& y, std::span<const Variable> inputs) override;
  void backward(Node& node, const Variable& dy, Grads& gradients) override;

 private:
  const Mutant& mutant_;
  Tensor memory_;
};

}  // namespace minigpt::zoo
