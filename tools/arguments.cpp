#include "tools/arguments.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <random>

#include "tensor/parallel.h"

namespace minigpt::tools {
namespace {

// " (1 to 1000)", "" for any number.
std::string in_parentheses(const std::string& text) { return text.empty() ? "" : " (" + text + ")"; }
std::string allowed(const Interval& limits) { return in_parentheses(limits.text()); }

// The same for help texts, where a limit that nobody meets is left out.
std::string help_range(Interval limits) {
  if (limits.high >= kCount && limits.high < kSeed) limits.high = std::numeric_limits<double>::infinity();
  return allowed(limits);
}

// "--n-layer (--layers)": under both names, since the message must show the one that was typed.
std::string typed_names(const Field& f) {
  return f.option() + (f.alias.empty() ? "" : " (--" + f.alias + ")");
}

// The whole text as a number, whatever the locale.
std::optional<double> parse(const std::string& text) {
  if (text.empty() || std::isspace(static_cast<unsigned char>(text[0]))) return std::nullopt;
  double value = 0;
  const char* first = text.data() + (text[0] == '+' ? 1 : 0);
  if (text.starts_with("+-")) return std::nullopt;
  const auto [end, error] = std::from_chars(first, text.data() + text.size(), value);
  // Below the smallest number is 0, above the largest is out of every range.
  if (error == std::errc::result_out_of_range)
    return text.find("e-") != text.npos || text.find("E-") != text.npos
               ? 0.0
               : std::numeric_limits<double>::infinity();
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string show(double value) { return fmt::format("{}", value); }
std::string show(std::int64_t value) { return fmt::format("{}", value); }
std::string show(bool value) { return value ? "true" : "false"; }
std::string show(const std::string& value) { return value; }

void read(const Field& f, const std::string& text, std::int64_t& value) {
  value = whole_number(typed_names(f), text, f.limits);
}
void read(const Field& f, const std::string& text, double& value) {
  value = real_number(typed_names(f), text, f.limits);
}
void read(const Field& f, const std::string& text, bool& value) {
  check(text == "true" || text == "false" || text == "1" || text == "0", "option",
        "{}: '{}' is neither true nor false", f.option(), text);
  value = text == "true" || text == "1";
}
void read(const Field& f, const std::string& text, std::string& value) {
  const std::string near = nearest_name(text, f.choices);
  check(std::find(f.choices.begin(), f.choices.end(), text) != f.choices.end(), "option",
        "{}: '{}' is not one of {}{}", f.option(), text, f.range(),
        near.empty() ? "" : "; did you mean " + near + "?");
  value = text;
}

const char* type_of(std::int64_t) { return "INT"; }
const char* type_of(double) { return "NUMBER"; }
const char* type_of(const std::string&) { return "NAME"; }

}  // namespace

double real_number(const std::string& option, const std::string& text, const Interval& limits) {
  const std::optional<double> value = parse(text);
  check(value.has_value() && !std::isnan(*value), "option", "{}: '{}' is not a number{}", option, text,
        allowed(limits));
  check(std::isfinite(*value) && limits.contains(*value), "option", "{}: {} is out of range{}", option, text,
        allowed(limits));
  return *value + 0.0;  // -0 becomes 0
}

std::int64_t whole_number(const std::string& option, const std::string& text, const Interval& limits) {
  const std::optional<double> value = parse(text);
  check(value.has_value() && !std::isnan(*value) && (std::isinf(*value) || std::nearbyint(*value) == *value),
        "option", "{}: '{}' is not a whole number{}", option, text, allowed(limits));
  // A double rounds 2^53 + 1 to 2^53: digits alone are read as what they are.
  std::int64_t exact = 0;
  const char* first = text.data() + (text[0] == '+' ? 1 : 0);
  const auto [end, error] = std::from_chars(first, text.data() + text.size(), exact);
  const bool digits = error == std::errc() && end == text.data() + text.size();
  check(limits.contains(*value) && std::fabs(*value) <= kSeed &&
            (!digits || exact <= static_cast<std::int64_t>(std::min(limits.high, kSeed))),
        "option", "{}: {} is out of range{}", option, text, allowed(limits));
  return digits ? exact : static_cast<std::int64_t>(*value);
}

void add_number_option(CLI::App& app, TextOption& target, const std::string& name,
                       const std::string& value_name, const std::string& help,
                       const std::string& default_text, const Interval& limits) {
  target.limits = limits;
  add_text_option(app, target, name, value_name, help + help_range(limits), default_text);
}

void add_text_option(CLI::App& app, TextOption& target, const std::string& name,
                     const std::string& value_name, const std::string& help,
                     const std::string& default_text) {
  target.name = name.substr(0, name.find(','));
  target.text = default_text;
  target.option = app.add_option(name, target.text, help)->type_name(value_name);
  if (!default_text.empty()) target.option->default_str(default_text);
  target.option->allow_extra_args(false);
}

void ConfigOptions::add_to(CLI::App& app, const TrainConfig& defaults) {
  TrainConfig copy = defaults;
  copy.visit([&](const Field& field, auto& value) {
    using T = std::decay_t<decltype(value)>;
    Entry entry{field, std::make_unique<std::string>(), nullptr};
    const std::string names = field.option() + (field.alias.empty() ? "" : ",--" + field.alias);
    const std::string help =
        field.help + (field.choices.empty() ? help_range(field.limits) : in_parentheses(field.range()));
    if constexpr (std::is_same_v<T, bool>) {
      // "--bias" alone means true; "--bias false" switches off. The default is written by hand, since CLI11 would
      // hand over a declared one for "--bias" alone.
      entry.option = app.add_option(names, *entry.text, help)->expected(0, 1);
      entry.option->type_name("[true|false]=" + show(value));
    } else {
      entry.option = app.add_option(names, *entry.text, help)->type_name(type_of(value));
      entry.option->default_str(show(value));
    }
    entry.option->group("Recipe");
    entries_.push_back(std::move(entry));
  });
}

void ConfigOptions::apply(TrainConfig& config) const {
  config.visit([&](const Field& field, auto& value) {
    for (const Entry& entry : entries_) {
      if (entry.field.name != field.name || entry.option->count() == 0) continue;
      const std::vector<std::string> words = entry.option->results();
      const bool bare = words.empty() || words[0].empty() || words[0] == "{}";
      read(field, bare && std::is_same_v<std::decay_t<decltype(value)>, bool> ? "true" : words[0], value);
    }
  });
}

bool ConfigOptions::given(const std::string& field) const {
  for (const Entry& entry : entries_)
    if (entry.field.name == field) return entry.option->count() > 0;
  return false;
}

void add_threads_option(CLI::App& app, TextOption& threads) {
  add_number_option(app, threads, "--threads", "INT", "threads to compute with",
                    std::to_string(default_num_threads()), between(1, 1024));
}

void apply_threads(const TextOption& threads) { set_num_threads(static_cast<int>(threads.whole())); }

std::uint64_t seed_or_fresh(const TextOption& seed) {
  if (!seed.given()) return std::random_device()();
  return static_cast<std::uint64_t>(seed.whole());
}

}  // namespace minigpt::tools
