#include "models/ngram.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "tensor/error.h"

namespace minigpt {
namespace {

// Every distinct n-gram of the training part has a number, and the key of an (n+1)-gram is built from two of
// them:
//     key(h c) = number(h) * V + c.
// So keys never outgrow 64 bits, whatever V and n, and the number of an n-gram is also that of the context it
// forms for the next order. The empty context has number 0.
using Key = std::uint64_t;
constexpr std::int32_t kUnseen = -1;

// Key -> number, in order of first appearance. Open addressing in one flat array: most look-ups touch one
// cache line.
class GramTable {
 public:
  GramTable() : slots_(std::size_t{1} << 10) {}

  std::int32_t find(Key key) const { return slots_[locate(key)].number; }

  std::int32_t find_or_add(Key key) {
    Slot& slot = slots_[locate(key)];
    if (slot.number != kUnseen) return slot.number;
    const std::int32_t number = size_++;
    slot = {key, number};
    if (static_cast<std::size_t>(size_) * 2 > slots_.size()) grow();
    return number;
  }

  std::int32_t size() const { return size_; }

 private:
  struct Slot {
    Key key = 0;
    std::int32_t number = kUnseen;
  };

  // The slot that holds `key`, or the free one where it belongs. Neighbouring keys are common (same context,
  // close characters), so the bits are mixed first; the odd factor is 2^64 divided by the golden ratio.
  std::size_t locate(Key key) const {
    const std::size_t mask = slots_.size() - 1;
    Key mixed = key * 0x9E3779B97F4A7C15u;
    mixed ^= mixed >> 32;
    std::size_t at = mixed & mask;
    while (slots_[at].number != kUnseen && slots_[at].key != key) at = (at + 1) & mask;
    return at;
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.number != kUnseen) slots_[locate(slot.key)] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::int32_t size_ = 0;
};

// The counts of one order. A position's "gram" is the number of the (n-1)-gram that ends just before it: its
// context.
struct Counts {
  Counts(std::int32_t contexts, std::int64_t vocab_size)
      : vocab(static_cast<Key>(vocab_size)),
        total(static_cast<std::size_t>(contexts)),
        followers(static_cast<std::size_t>(contexts)) {}

  // grams[i] is the context of token i; afterwards it is its context for the next order. From the end,
  // because that needs grams[i - 1] of this order.
  void count_tokens(std::span<const std::int32_t> tokens, std::size_t context_length,
                    std::vector<std::int32_t>& grams) {
    for (std::size_t i = tokens.size(); i-- > context_length;) {
      const auto context = static_cast<std::size_t>(grams[i]);
      const std::int32_t gram = table.find_or_add(context * vocab + static_cast<Key>(tokens[i]));
      if (static_cast<std::size_t>(gram) == count.size()) {
        count.push_back(0);
        ++followers[context];
      }
      ++count[static_cast<std::size_t>(gram)];
      ++total[context];
      grams[i + 1] = gram;
    }
  }

  Key vocab;
  GramTable table;
  std::vector<std::int32_t> count;      // by gram: how often it occurs
  std::vector<std::int32_t> total;      // by context: how often a token followed it
  std::vector<std::int32_t> followers;  // by context: how many distinct ones
};

// What is known about one scored token: how often it followed its context, out of how often, in the training
// part; and its Witten-Bell probability so far.
struct Evidence {
  double count = 0;
  double total = 0;
  double witten_bell = 0;
};

// Brings the evidence of tokens[1], tokens[2], ... to the order of `counts`. Tokens that have too few others
// before them keep the evidence of the order before.
void look_up(const Counts& counts, std::span<const std::int32_t> tokens, std::size_t context_length,
             std::vector<std::int32_t>& grams, std::vector<Evidence>& evidence) {
  for (std::size_t i = tokens.size(); i-- > context_length;) {
    const std::int32_t context = grams[i];
    std::int32_t gram = kUnseen;
    if (context != kUnseen)
      gram = counts.table.find(static_cast<Key>(context) * counts.vocab + static_cast<Key>(tokens[i]));
    grams[i + 1] = gram;
    if (i == 0) continue;
    Evidence& e = evidence[i - 1];
    e.count = gram == kUnseen ? 0 : counts.count[static_cast<std::size_t>(gram)];
    e.total = context == kUnseen ? 0 : counts.total[static_cast<std::size_t>(context)];
    const double t = context == kUnseen ? 0 : counts.followers[static_cast<std::size_t>(context)];
    // A context can be known and still have no followers: it ended the training part.
    if (e.total > 0) e.witten_bell = (e.count + t * e.witten_bell) / (e.total + t);
  }
}

// The mean of -ln p over the scored tokens.
double additive_loss(std::span<const Evidence> evidence, double a, double vocab) {
  double sum = 0;
  for (const Evidence& e : evidence) sum -= std::log((e.count + a) / (e.total + a * vocab));
  return sum / static_cast<double>(evidence.size());
}

double witten_bell_loss(std::span<const Evidence> evidence) {
  double sum = 0;
  for (const Evidence& e : evidence) sum -= std::log(e.witten_bell);
  return sum / static_cast<double>(evidence.size());
}

void check_tokens(std::span<const std::int32_t> tokens, std::int64_t vocab, std::string_view part) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    check(tokens[i] >= 0 && tokens[i] < vocab, "ngram",
          "token {} at position {} of the {} part is outside 0..{}", tokens[i], i, part, vocab - 1);
  }
}

}  // namespace

double NgramLadder::best() const {
  double smallest = best_witten_bell();
  for (const Row& row : rows) smallest = std::min(smallest, row.additive_loss);
  return smallest;
}

double NgramLadder::best_witten_bell() const {
  double smallest = std::numeric_limits<double>::infinity();
  for (const Row& row : rows) smallest = std::min(smallest, row.witten_bell_loss);
  return smallest;
}

NgramLadder ngram_ladder(std::span<const std::int32_t> train, std::span<const std::int32_t> val,
                         std::int64_t vocab, int max_order) {
  constexpr std::int64_t kLimit = std::numeric_limits<std::int32_t>::max();
  check(vocab >= 1 && vocab <= kLimit, "ngram", "the vocabulary size must be 1..{}: {}", kLimit, vocab);
  check(max_order >= 1 && max_order <= kMaxNgramOrder, "ngram", "the order must be 1..{}: {}", kMaxNgramOrder,
        max_order);
  check(!train.empty(), "ngram", "the training part is empty");
  check(train.size() < static_cast<std::size_t>(kLimit), "ngram",
        "the training part has {} tokens, at most {} can be counted", train.size(), kLimit - 1);
  check(val.size() >= 2, "ngram", "the validation part has {} tokens, at least 2 are needed to score one",
        val.size());
  check_tokens(train, vocab, "training");
  check_tokens(val, vocab, "validation");

  const auto classes = static_cast<double>(vocab);
  std::vector<std::int32_t> train_grams(train.size() + 1, 0);  // order 1: the empty context everywhere
  std::vector<std::int32_t> val_grams(val.size() + 1, 0);
  std::vector<Evidence> evidence(val.size() - 1, Evidence{0, 0, 1 / classes});

  NgramLadder ladder;
  ladder.uniform = std::log(classes);
  ladder.scored = static_cast<std::int64_t>(evidence.size());
  std::int32_t contexts = 1;
  for (int order = 1; order <= max_order; ++order) {
    const auto context_length = static_cast<std::size_t>(order - 1);
    Counts counts(contexts, vocab);
    counts.count_tokens(train, context_length, train_grams);
    look_up(counts, val, context_length, val_grams, evidence);
    contexts = counts.table.size();

    NgramLadder::Row row;
    row.order = order;
    row.additive_loss = std::numeric_limits<double>::infinity();
    for (const double a : kAdditiveGrid) {
      const double loss = additive_loss(evidence, a, classes);
      if (loss >= row.additive_loss) continue;
      row.additive_loss = loss;
      row.additive_constant = a;
    }
    row.witten_bell_loss = witten_bell_loss(evidence);
    ladder.rows.push_back(row);
  }
  return ladder;
}

}  // namespace minigpt
