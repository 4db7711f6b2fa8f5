#pragma once
// What a command of the system prints.

#include <doctest/doctest.h>

#include <cstdio>
#include <memory>
#include <string>

namespace minigpt::test {

inline std::string output_of(const std::string& command) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen(command.c_str(), "r"), &::pclose);
  REQUIRE(pipe != nullptr);
  std::string text;
  for (int c = std::fgetc(pipe.get()); c != EOF; c = std::fgetc(pipe.get())) text += static_cast<char>(c);
  return text;
}

}  // namespace minigpt::test
