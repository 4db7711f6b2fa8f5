#include "tools/command_line.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <optional>
#include <sstream>
#include <system_error>

#include "models/train_config.h"
#include "tensor/error.h"
#include "tools/commands.h"
#include "tools/messages.h"

namespace minigpt::tools {
namespace {

struct Entry {
  CLI::App* app;
  Command run;
};

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

// "bench matmul" for a command of a command.
std::string command_path(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return (parent && parent->get_parent() ? command_path(*parent) + " " : "") + app.get_name();
}

// The innermost command that was typed, null if there is none.
const CLI::App* innermost(const CLI::App& app) {
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App* s) { return s->parsed(); })) {
    const CLI::App* inner = innermost(*sub);
    return inner ? inner : sub;
  }
  return nullptr;
}

// What was left over is an option or a command that does not exist; says which one may have been meant.
std::string unknown_argument(const CLI::App& root, const CLI::App* chosen,
                             const std::vector<std::string>& left) {
  const std::string word = left.front();
  std::vector<std::string> known;
  if (word.rfind("-", 0) == 0) {
    known = option_names(chosen ? *chosen : root);
  } else {
    for (const CLI::App* sub : (chosen ? *chosen : root).get_subcommands({}))
      known.push_back(sub->get_name());
  }
  const std::string name = word.substr(0, word.find('='));
  const std::string near = nearest_name(name, known);
  const char* kind = word.rfind("-", 0) == 0 ? "option" : (known.empty() ? "argument" : "command");
  const std::string path = chosen ? command_path(*chosen) : "";
  return fmt::format("there is no {} '{}'{}{}", kind, name, chosen ? " for " + path : "",
                     near.empty() ? fmt::format("; see minigpt {}--help", chosen ? path + " " : "")
                                  : "; did you mean " + near + "?");
}

// An option with nothing as its value, such as --data "$TEXT" without such a variable: no option at all may be what was
// meant, or a name that is missing. Only a prompt may be empty.
std::string empty_value(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_expected_min() == 0 || option->check_lname("prompt")) continue;
    for (const std::string& value : option->results())
      if (value.empty()) return fmt::format("{} needs a value, got an empty one", option->get_name());
  }
  return "";
}

// A flag with a value that is none: CLI11 would take --json=5 for --json.
std::string flag_value(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_expected_max() != 0) continue;
    for (const std::string& value : option->results())
      if (value != "true" && value != "false")
        return fmt::format("{} takes no value, got '{}'", option->get_name(), value);
  }
  for (const CLI::App* sub : app.get_subcommands())
    if (const std::string text = flag_value(*sub); !text.empty()) return text;
  return "";
}

// CLI11's messages in plainer words: it says "--steps: At Most 1 required but received 2".
std::string parse_error_text(const CLI::ParseError& e) {
  const std::string whole = e.what();
  const std::string text = whole.substr(0, whole.find('\n'));
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&e)) {
    const std::string option = text.substr(0, text.find(':'));
    return option + (text.find("received") != text.npos ? " is given more than once" : " needs a value");
  }
  if (dynamic_cast<const CLI::ConversionError*>(&e)) {
    // "Could not convert: --json = maybe": flags alone are converted by CLI11.
    const auto begin = text.find("--"), end = text.find(" = ");
    if (begin < end && end != text.npos)
      return fmt::format("{} takes no value, got '{}'", text.substr(begin, end - begin),
                         text.substr(end + 3));
  }
  return text;
}

int usage_error(const std::string& text) {
  say("minigpt: {}\n", one_line(text));
  return 2;
}

// The first argument that is no option: options before the command take no values.
std::string_view first_word(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i)
    if (argv[i][0] != '-') return argv[i];
  return "";
}

// To a command and to the commands in it: it may be typed behind either name.
void add_dry_run(CLI::App& app, bool& dry_run) {
  app.add_flag("--dry-run", dry_run, "read and check arguments and files, and stop before the work begins");
  for (CLI::App* sub : app.get_subcommands({})) add_dry_run(*sub, dry_run);
}

int run(int argc, const char* const* argv) {
  CLI::App app("Train, sample and inspect a small GPT. `minigpt COMMAND --help` explains a command.",
               "minigpt");
  app.set_version_flag("--version", version_text());
  app.get_formatter()->column_width(34);
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  app.allow_extras();
  // One command: without this, the lesson of that name in `minigpt lesson gradcheck` would be taken for a second one.
  app.require_subcommand(0, 1);
  const std::pair<const char*, Command (*)(CLI::App&)> commands[] = {
      {"train", add_train},
      {"sample", add_sample},
      {"eval", add_eval},
      {"ngram", add_ngram},
      {"gradcheck", add_gradcheck},
      {"info", add_info},
      {"heads", add_heads},
      {"why", add_why},
      {"inspect", add_inspect},
      {"graph", add_graph},
      {"bench", add_bench},
      {"lesson", add_lesson},
      {"zoo", add_zoo},
  };
  // The options of the one command that was typed are enough, and those of all are a millisecond's work.
  const std::string_view typed = first_word(argc, argv);
  const bool known = std::any_of(std::begin(commands), std::end(commands),
                                 [&](const auto& command) { return typed == command.first; });
  std::vector<Entry> entries;
  bool dry_run = false;
  for (const auto& [name, add] : commands) {
    CLI::App* sub = app.add_subcommand(name);
    sub->allow_extras();
    sub->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::Throw);
    if (known && typed != name) continue;
    entries.push_back({sub, add(*sub)});
    add_dry_run(*sub, dry_run);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // --help, --version
    std::ostringstream out;
    const int code = app.exit(e, out, out);
    fmt::print("{}", out.str());
    return code;
  } catch (const CLI::ParseError& e) {
    return usage_error(parse_error_text(e));
  }
  const Entry* chosen = nullptr;
  for (const Entry& entry : entries)
    if (entry.app->parsed()) chosen = &entry;
  if (const auto left = app.remaining(true); !left.empty())
    return usage_error(unknown_argument(app, innermost(app), left));
  if (const std::string text = flag_value(app); !text.empty()) return usage_error(text);
  if (const CLI::App* inner = innermost(app))
    if (const std::string text = empty_value(*inner); !text.empty()) return usage_error(text);
  if (!chosen) {
    std::string names;
    for (const auto& command : commands)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", command.first);
    return usage_error("a command is needed: " + names + "; see minigpt --help");
  }
  std::optional<Rehearsal> rehearsal;
  if (dry_run) rehearsal.emplace();
  try {
    return chosen->run();
  } catch (const RehearsalOver&) {
    if (dry_run) fmt::print("nothing is wrong with these arguments and files\n");
    return 0;
  }
}

// The library's messages begin with the operation, "[write_file] ...". That helps whoever called it, but not the user of a
// command, who has not called anything of that name; words such as "[text]" stay.
std::string_view without_function(std::string_view text) {
  const std::size_t end = text.find("] ");
  if (!text.starts_with('[') || end == text.npos || text.substr(0, end).find('_') == text.npos) return text;
  return text.substr(end + 2);
}

int report(const char* text, int code) {
  say("minigpt: {}\n", without_function(text));
  return code;
}

// Why standard output could not be written: errno, or what one more byte meets if the error came earlier.
std::string output_error() {
  const bool again = errno == 0 && write(STDOUT_FILENO, "\n", 1) == 1;
  return "standard output could not be written completely" +
         (again || errno == 0 ? std::string() : ": " + std::generic_category().message(errno));
}

}  // namespace

int run_command_line(int argc, const char* const* argv) {
  try {
    const int code = run(argc, argv);
    // A full disk shows only now if the output is a file.
    errno = 0;
    if (std::fflush(stdout) != 0 || std::ferror(stdout)) return report(output_error().c_str(), 1);
    return code;
  } catch (const RunError& e) {
    return report(e.what(), 1);
  } catch (const Error& e) {
    return report(e.what(), 2);
  } catch (const std::system_error& e) {
    // fmt::print knows no names of files; nothing but standard output is written with it.
    if (std::string_view(e.what()).starts_with("cannot write to file"))
      return report(("standard output could not be written: " + e.code().message()).c_str(), 1);
    return report(e.what(), 1);
  } catch (const std::bad_alloc&) {
    return report("out of memory", 1);
  } catch (const std::exception& e) {
    return report(e.what(), 1);
  }
}

}  // namespace minigpt::tools
