#pragma once
// Reading JSON that somebody else may have written.

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace minigpt {

// Parses a JSON object. Throws Error "[op] source: ..." for anything else, for text that is not valid JSON (with its line
// and column), a zero byte (the parser would take it for the end), a name that stands twice in one object (the parser
// would keep the first or the last), objects and lists nested more than 4 deep (whoever walks them may recurse), and more
// than 200 names (an ordered object searches them one by one).
nlohmann::ordered_json parse_json_object(std::string_view text, std::string_view op, std::string_view source);

}  // namespace minigpt
