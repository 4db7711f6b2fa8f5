#pragma once
// What is fuzzed: functions that take arbitrary bytes, as a file, a folder of files or a command line, and look at what
// the library makes of them.
//
// Each must come back for every input. Anything that leaves one, any finding of a sanitizer, any huge allocation and any
// endless loop is a bug. libFuzzer calls them through entry/entry.cpp; corpus_test.cpp calls them for the whole corpus with any compiler.

#include <cstddef>
#include <span>
#include <vector>

namespace minigpt::test {

using Bytes = std::span<const std::byte>;

void fuzz_safetensors(Bytes input);  // a file of weights
void fuzz_config(Bytes input);       // config.json
void fuzz_tokenizer(Bytes input);    // tokenizer.json
void fuzz_state(Bytes input);        // last/state.json
void fuzz_text(Bytes input);         // a text to train on, a prompt, the text of an error
void fuzz_folder(Bytes input);       // changes to the files of a model folder, which is then loaded
void fuzz_command(Bytes input);      // the arguments of a command line, one a line

struct FuzzTarget {
  const char* name;
  void (*run)(Bytes);
};
inline constexpr FuzzTarget kFuzzTargets[] = {
    {"safetensors", fuzz_safetensors},
    {"config", fuzz_config},
    {"tokenizer", fuzz_tokenizer},
    {"state", fuzz_state},
    {"text", fuzz_text},
    {"folder", fuzz_folder},
    {"command", fuzz_command},
};

}  // namespace minigpt::test
