#pragma once
// The subcommands. Each adds itself to the command line and returns what to run if it is chosen; the returned function
// gives the exit code.

#include <CLI/CLI.hpp>
#include <functional>

#include "tools/rehearsal.h"

namespace minigpt::tools {

using Command = std::function<int()>;

Command add_train(CLI::App& app);
Command add_sample(CLI::App& app);
Command add_eval(CLI::App& app);
Command add_ngram(CLI::App& app);
Command add_gradcheck(CLI::App& app);
Command add_graph(CLI::App& app);
Command add_heads(CLI::App& app);
Command add_why(CLI::App& app);
Command add_inspect(CLI::App& app);
Command add_info(CLI::App& app);
Command add_bench(CLI::App& app);
Command add_lesson(CLI::App& app);
Command add_zoo(CLI::App& app);

// "minigpt 0.1.0 (Release, GCC 12.2.0)", with a warning for an unoptimised build.
std::string version_text();

}  // namespace minigpt::tools
