#include "tools/commands.h"

#include <fmt/core.h>

namespace minigpt::tools {

std::string version_text() {
#if defined(__clang__)
  const std::string compiler = "Clang " __clang_version__;
#elif defined(__GNUC__)
  const std::string compiler = "GCC " __VERSION__;
#else
  const std::string compiler = "an unknown compiler";
#endif
  std::string text = fmt::format("minigpt {} ({}, {})", MINIGPT_VERSION, MINIGPT_BUILD_TYPE, compiler);
#if !defined(__OPTIMIZE__)
  text += "\nwarning: this build is not optimised and about ten times slower; use -DCMAKE_BUILD_TYPE=Release";
#endif
  return text;
}

}  // namespace minigpt::tools
