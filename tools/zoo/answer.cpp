#include "tools/zoo/answer.h"

#include <algorithm>
#include <set>

namespace minigpt::zoo {
namespace {

// " layer norm mean term " : small letters, single blanks, one at each end. What is not ASCII stays.
std::string plain(std::string_view text) {
  std::string out = " ";
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    const bool digit = c >= '0' && c <= '9', lower = c >= 'a' && c <= 'z', upper = c >= 'A' && c <= 'Z';
    if (digit || lower || u >= 128)
      out += c;
    else if (upper)
      out += static_cast<char>(c - 'A' + 'a');
    else if (out.back() != ' ')
      out += ' ';
  }
  if (out.back() != ' ') out += ' ';
  return out;
}

std::vector<std::string> parts_of(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 128; });
}

// What to look for: whole words, or the beginning of a word; Chinese has no blanks between words.
std::string pattern(std::string_view word, bool whole) {
  std::string p = plain(word);
  if (!is_ascii(word)) return p.substr(1, p.size() - 2);
  if (!whole) p.pop_back();
  return p;
}

// The operations that the answer names, each as one of its names. The longest names go first and are taken out of the
// answer, so that "log_softmax" is not "log" as well.
std::set<std::string> named_operations(std::string answer) {
  static const std::vector<std::string> names = [] {
    std::set<std::string> all;
    for (const Mutant* m : mutants())
      for (const std::string& name : parts_of(m->names, '|')) all.insert(pattern(name, true));
    std::vector<std::string> sorted(all.begin(), all.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.size() > b.size(); });
    return sorted;
  }();
  std::set<std::string> found;
  for (const std::string& name : names) {
    for (std::size_t at = answer.find(name); at != answer.npos; at = answer.find(name)) {
      found.insert(name);
      answer.replace(at, name.size(), " / ");
    }
  }
  return found;
}

}  // namespace

Verdict judge(const Mutant& mutant, std::string_view answer) {
  const std::string text = plain(answer);
  const std::set<std::string> named = named_operations(text);
  Verdict verdict;
  verdict.too_many = named.size() > 4;
  for (const std::string& name : parts_of(mutant.names, '|'))
    verdict.operation = verdict.operation || named.count(pattern(name, true)) > 0;
  verdict.fault = true;
  for (const std::string& group : parts_of(mutant.fault, '&')) {
    bool found = false;
    for (const std::string& word : parts_of(group, '|'))
      found = found || text.find(pattern(word, false)) != text.npos;
    verdict.fault = verdict.fault && found;
  }
  return verdict;
}

}  // namespace minigpt::zoo
