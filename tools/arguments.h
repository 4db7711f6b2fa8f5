#pragma once
// Reading option values, with one kind of message for all of them: option, value, what is allowed.

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "models/train_config.h"

namespace minigpt::tools {

// A whole number; 1e3 counts as 1000. Throws Error "--steps: '2.5' is not a whole number (1 or more)".
std::int64_t whole_number(const std::string& option, const std::string& text, const Interval& limits);
inline std::int64_t whole_number(const std::string& option, const std::string& text, double low,
                                 double high) {
  return whole_number(option, text, between(low, high));
}
// A finite number within the limits.
double real_number(const std::string& option, const std::string& text, const Interval& limits);

// Limits for what has none worth telling: larger numbers are refused all the same, before anything overflows.
inline constexpr double kCount = 1e12, kSeed = 9007199254740992.0;

// An option kept as text until it is read, so that every value goes through the checks above.
struct TextOption {
  std::string name;  // "--tokens"
  std::string text;
  Interval limits;  // of a number
  CLI::Option* option = nullptr;

  bool given() const { return option && option->count() > 0; }
  std::int64_t whole() const { return whole_number(name, text, limits); }
  double real() const { return real_number(name, text, limits); }
  // With limits that the option was not added with.
  std::int64_t whole(double low, double high) const { return whole_number(name, text, between(low, high)); }
};

// Adds an option for a number: "--name VALUE  help (limits) [default]".
void add_number_option(CLI::App& app, TextOption& target, const std::string& name,
                       const std::string& value_name, const std::string& help,
                       const std::string& default_text, const Interval& limits);
// Adds "--name VALUE  help [default]".
void add_text_option(CLI::App& app, TextOption& target, const std::string& name,
                     const std::string& value_name, const std::string& help, const std::string& default_text);

// Every field of the training configuration as an option.
class ConfigOptions {
 public:
  void add_to(CLI::App& app, const TrainConfig& defaults);
  // Overwrites the fields that were given. Throws Error for a bad value.
  void apply(TrainConfig& config) const;
  bool given(const std::string& field) const;

 private:
  struct Entry {
    Field field;
    std::unique_ptr<std::string> text;
    CLI::Option* option;
  };
  std::vector<Entry> entries_;
};

// --threads N, shared by the commands that compute.
void add_threads_option(CLI::App& app, TextOption& threads);
void apply_threads(const TextOption& threads);

// --seed N; if it is not given, a fresh one is taken from the system's entropy.
std::uint64_t seed_or_fresh(const TextOption& seed);

}  // namespace minigpt::tools
