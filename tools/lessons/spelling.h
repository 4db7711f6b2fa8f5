#pragma once
// Words of small letters as sequences of ids, for the model that writes them backwards.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "models/encoder_decoder.h"

namespace minigpt::lessons {

using Word = std::vector<std::int32_t>;  // 'a' is kFirstSymbol

inline Word word_of(std::string_view letters) {
  Word word;
  for (const char c : letters) word.push_back(kFirstSymbol + (c - 'a'));
  return word;
}

inline std::string spelt(const Word& word) {
  std::string out;
  for (const std::int32_t id : word)
    out += id < kFirstSymbol ? '?' : static_cast<char>('a' + id - kFirstSymbol);
  return out;
}

inline Word backwards(Word word) {
  std::reverse(word.begin(), word.end());
  return word;
}

inline std::vector<Word> backwards(std::vector<Word> words) {
  for (Word& word : words) word = backwards(word);
  return words;
}

inline Word random_word(std::int64_t letters, std::int64_t shortest, std::int64_t longest, Generator& rng) {
  Word word(static_cast<std::size_t>(rng.randint(shortest, longest + 1)));
  rng.randint(std::span<std::int32_t>(word), kFirstSymbol, kFirstSymbol + letters);
  return word;
}

}  // namespace minigpt::lessons
