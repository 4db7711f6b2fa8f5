#pragma once
// How one setting is described, so that the command line, the JSON file and the help text all read from one place.

#include <string>
#include <vector>

#include "models/interval.h"

namespace minigpt {

struct Field {
  Field(const char* field_name, const char* field_help) : name(field_name), help(field_help) {}
  Field& between(double low, double high) { return in(minigpt::between(low, high)); }
  Field& in(const Interval& numbers) {
    limits = numbers;
    return *this;
  }
  Field& one_of(std::vector<std::string> values) {
    choices = std::move(values);
    return *this;
  }
  // Folders written before this setting existed are complete without it; the default is what they did.
  Field& added_later() {
    required = false;
    return *this;
  }

  // How long a run goes on and what it reports: a resumed run may change it. All else decides what is computed.
  Field& may_change() {
    fixed = false;
    return *this;
  }

  // A shorter name on the command line: "lr" for --lr.
  Field& also(const char* short_name) {
    alias = short_name;
    return *this;
  }

  // "n_layer" in JSON, "--n-layer" on the command line.
  std::string option() const {
    std::string text = "--" + name;
    for (char& c : text)
      if (c == '_') c = '-';
    return text;
  }
  // "1 to 1000", "layer | rms", "" when anything goes.
  std::string range() const;

  std::string name;
  std::string help;
  std::string alias;
  bool required = true;
  bool fixed = true;
  Interval limits;
  std::vector<std::string> choices;
};

}  // namespace minigpt
