#pragma once
// The text that is always at hand: minigpt's own source code, put into the program when it is built.

#include <string_view>

namespace minigpt::tools {

std::string_view builtin_text();

}  // namespace minigpt::tools
