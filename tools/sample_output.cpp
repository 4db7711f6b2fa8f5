#include "tools/sample_output.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "tensor/error.h"

namespace minigpt::tools {
namespace {

void print(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0)
    throw RunError(fmt::format("[sample] standard output could not be written: {}",
                               std::generic_category().message(errno)));
}

}  // namespace

std::string StopFilter::add(std::string_view text) {
  waiting_ += text;
  if (stop_.empty()) return std::exchange(waiting_, {});
  const std::size_t out = waiting_.find(stop_);
  if (out != std::string::npos) {
    stopped_ = true;
    const std::string last = waiting_.substr(0, out);
    waiting_.clear();
    return last;
  }
  // Everything but a possible beginning of the stop text can go out.
  std::size_t keep = std::min(stop_.size() - 1, waiting_.size());
  while (keep > 0 && waiting_.compare(waiting_.size() - keep, keep, stop_, 0, keep) != 0) --keep;
  const std::string ready = waiting_.substr(0, waiting_.size() - keep);
  waiting_.erase(0, ready.size());
  return ready;
}

void TextsInOrder::add(std::size_t i, std::string_view text) {
  if (i == live_)
    print(text);
  else
    texts_[i].waiting += text;
}

void TextsInOrder::finish(std::size_t i) {
  texts_[i].finished = true;
  while (live_ < texts_.size() && texts_[live_].finished)
    if (++live_ < texts_.size()) print(std::exchange(texts_[live_].waiting, {}));
}

}  // namespace minigpt::tools
