#pragma once
// Autograd on single numbers, as small as it gets: for the lesson on it, and for nothing else. The library's own is
// autograd/.
//
// A tape lists every value in the order in which it was computed. Each entry remembers which values it was made of, and how
// fast it changes with each of them (its local slopes). That is all the backward pass needs.

#include <algorithm>
#include <vector>

namespace minigpt::lessons {

struct Tape {
  struct Entry {
    double data;
    int left, right;       // entries it was made of, -1 for none
    double dleft, dright;  // d(data) / d(left), d(data) / d(right)
    double grad = 0;       // d(result) / d(data), known after backward()
  };
  std::vector<Entry> entries;
};

// A number on a tape.
struct TinyValue {
  Tape* tape;
  int index;

  double data() const { return tape->entries[static_cast<std::size_t>(index)].data; }
  double grad() const { return tape->entries[static_cast<std::size_t>(index)].grad; }

  // The chain rule, from the last value to the first: whoever an entry was made of gets the entry's gradient times the
  // local slope. += because a value may have been used several times.
  void backward() const {
    for (Tape::Entry& e : tape->entries) e.grad = 0;
    tape->entries[static_cast<std::size_t>(index)].grad = 1;
    for (int i = index; i >= 0; --i) {
      const Tape::Entry e = tape->entries[static_cast<std::size_t>(i)];
      if (e.left >= 0) tape->entries[static_cast<std::size_t>(e.left)].grad += e.grad * e.dleft;
      if (e.right >= 0) tape->entries[static_cast<std::size_t>(e.right)].grad += e.grad * e.dright;
    }
  }
};

inline TinyValue append(Tape& tape, double data, int left = -1, double dleft = 0, int right = -1,
                        double dright = 0) {
  tape.entries.push_back({data, left, right, dleft, dright});
  return {&tape, static_cast<int>(tape.entries.size()) - 1};
}

// Each operation: its value, and its local slopes.
inline TinyValue operator+(TinyValue a, TinyValue b) {
  return append(*a.tape, a.data() + b.data(), a.index, 1, b.index, 1);
}
inline TinyValue operator*(TinyValue a, TinyValue b) {
  return append(*a.tape, a.data() * b.data(), a.index, b.data(), b.index, a.data());
}
inline TinyValue relu(TinyValue a) {
  return append(*a.tape, std::max(a.data(), 0.0), a.index, a.data() > 0 ? 1 : 0);
}

}  // namespace minigpt::lessons
