#include "models/strict_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tensor/error.h"

namespace minigpt {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDeepest = 4;
constexpr std::size_t kMostNames = 200;

// "line 3, column 5", counted from 1 in bytes.
std::string place(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte == 0 ? 0 : byte - 1, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n') + 1;  // 0 if there is none
  return fmt::format("line {}, column {}", line, before.size() - start + 1);
}

}  // namespace

Json parse_json_object(std::string_view text, std::string_view op, std::string_view source) {
  check(text.find('\0') == text.npos, op, "{}: not valid JSON: it holds a zero byte", source);
  std::vector<std::set<std::string>> seen;  // the names of each object that is open
  std::size_t names = 0;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    using Event = Json::parse_event_t;
    check(depth <= kDeepest, op, "{}: nested too deeply: more than {} levels", source, kDeepest);
    if (event == Event::object_start) seen.emplace_back();
    if (event == Event::object_end) seen.pop_back();
    if (event == Event::key) {
      const auto& name = parsed.get_ref<const std::string&>();
      check(seen.back().insert(name).second, op, "{}: {} stands twice", source, name);
      check(++names <= kMostNames, op, "{}: more than {} names", source, kMostNames);
    }
    return true;
  };
  Json json;
  try {
    json = Json::parse(text, watch);
  } catch (const Json::parse_error& e) {
    // What a crash or a full disk leaves behind, in words of its own. The parser's own text may quote megabytes.
    if (text.find_first_not_of(" \t\r\n") == text.npos) fail(op, "{}: not valid JSON: it is empty", source);
    if (e.byte > text.size()) fail(op, "{}: not valid JSON: it ends too early", source);
    fail(op, "{}: not valid JSON, at {}", source, place(text, e.byte));
  } catch (const Json::exception&) {
    fail(op, "{}: not valid JSON: a number is too large", source);
  }
  check(json.is_object(), op, "{}: must be a JSON object, not {}", source, json.type_name());
  return json;
}

}  // namespace minigpt
