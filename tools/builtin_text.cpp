#include "tools/builtin_text.h"

extern "C" const char minigpt_builtin_text_begin[];
extern "C" const char minigpt_builtin_text_end[];

namespace minigpt::tools {

std::string_view builtin_text() {
  return {minigpt_builtin_text_begin,
          static_cast<std::size_t>(minigpt_builtin_text_end - minigpt_builtin_text_begin)};
}

}  // namespace minigpt::tools
