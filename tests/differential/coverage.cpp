#include "tests/differential/coverage.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "tests/differential/expression.h"

namespace minigpt::differential {
namespace {

// The operations that a header defines: functions that return variables, outside of `namespace detail`, that are
// neither operators nor compositions.
std::set<std::string> operations_in(const std::filesystem::path& header) {
  std::ifstream stream(header, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  for (std::size_t at; (at = text.find("namespace detail {")) != std::string::npos;) {
    const std::size_t end = text.find("}  // namespace detail", at);
    text.erase(at, end == std::string::npos ? std::string::npos : end - at + 22);
  }
  std::set<std::string> names;
  const std::regex function(R"(\ninline [A-Za-z:<>]+ ([a-z][a-z0-9_]*)\()");
  for (std::sregex_iterator it(text.begin(), text.end(), function), end; it != end; ++it) {
    const std::string name = (*it)[1];
    if (!name.starts_with("operator") && !name.ends_with("_composed")) names.insert(name);
  }
  return names;
}

}  // namespace

std::vector<std::string> operations_without_entry(const std::string& root) {
  std::vector<std::string> missing;
  std::set<std::string> entries, headers_of_entries;
  for (const Op& op : all_ops()) {
    const std::string name = op.name;
    entries.insert(name.substr(0, name.find(' ')));
    headers_of_entries.insert(op.header);
  }
  std::set<std::string> headers, functions;
  for (const auto& file : std::filesystem::directory_iterator(root + "/autograd/ops")) {
    if (file.path().extension() != ".h") continue;
    const std::string header = file.path().filename().string();
    headers.insert(header);
    if (!headers_of_entries.contains(header))
      missing.push_back("autograd/ops/" + header + " has no entry in the table of tests/differential/");
    for (const std::string& name : operations_in(file.path())) {
      functions.insert(name);
      if (!entries.contains(name))
        missing.push_back(name + "() of autograd/ops/" + header +
                          " has no entry in the table of tests/differential/");
    }
  }
  for (const std::string& header : headers_of_entries)
    if (!headers.contains(header)) missing.push_back("there is no autograd/ops/" + header);
  for (const std::string& name : entries)
    if (!functions.contains(name)) missing.push_back("no header of autograd/ops/ has " + name + "()");
  return missing;
}

}  // namespace minigpt::differential
