#pragma once
// How lessons speak of heads.

#include <algorithm>

#include "models/head_analysis.h"
#include "tools/lessons/lesson.h"

namespace minigpt::lessons {

// "2.0": layer and head, both counted from 0.
inline std::string name_of(const HeadReport& head) { return fmt::format("{}.{}", head.layer, head.head); }

// head_type() in the language of the page.
inline std::string type_of(const Page& page, const HeadReport& head) {
  static const std::pair<const char*, const char*> kChinese[] = {
      {"itself", "看自己"},
      {"previous character", "看前一个字符"},
      {"sink on the first character", "停在第一个字符上"},
      {"same character earlier", "看前面相同的字符"},
      {"what followed earlier", "看上次后面跟着什么"},
      {"line ends", "看换行"},
      {"punctuation", "看标点"},
      {"blanks", "看空格"},
      {"the last few characters", "看最近几个字符"},
      {"broad", "到处都看"},
      {"a few, by content", "按内容挑几个"},
      {"mixed", "混合"}};
  if (page.chinese()) {
    for (const auto& [english, chinese] : kChinese)
      if (head.type == english) return chinese;
    // "3 characters back"
    return fmt::format("看往前第 {} 个字符", head.type.substr(0, head.type.find(' ')));
  }
  return head.type;
}

// The head with the largest value of something.
template <class F>
const HeadReport& top_by(const std::vector<HeadReport>& heads, const F& value) {
  return *std::max_element(heads.begin(), heads.end(),
                           [&](const HeadReport& a, const HeadReport& b) { return value(a) < value(b); });
}

}  // namespace minigpt::lessons
