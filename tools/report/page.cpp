#include "tools/report/page.h"

#ifdef MINIGPT_HAS_REPORT
extern "C" const char minigpt_report_page_begin[];
extern "C" const char minigpt_report_page_end[];
#endif

namespace minigpt::tools {
namespace {

std::string_view bundled_page() {
#ifdef MINIGPT_HAS_REPORT
  return {minigpt_report_page_begin,
          static_cast<std::size_t>(minigpt_report_page_end - minigpt_report_page_begin)};
#else
  return {};
#endif
}

std::string replaced(std::string_view text, std::string_view place, std::string_view with) {
  const std::size_t at = text.find(place);
  check(at != text.npos, "inspect", "the bundled page lacks its place for {}", place);
  std::string out;
  out.reserve(text.size() + with.size());
  out += text.substr(0, at);
  out += with;
  out += text.substr(at + place.size());
  return out;
}

}  // namespace

bool has_report_page() { return !bundled_page().empty(); }

std::string report_page(const Json& inspection) {
  check(
      has_report_page(), "inspect",
      "this minigpt was built without the page (no npm, or MINIGPT_REPORT=OFF); --json prints the same data");
  const std::string plain = replaced(bundled_page(), "<!--PLAIN-->", plain_report(inspection));
  return replaced(plain, "\"DATA\"",
                  escape_script(inspection.dump(-1, ' ', false, Json::error_handler_t::replace)));
}

std::string escape_script(std::string json) {
  for (std::size_t at = 0; (at = json.find('<', at)) != json.npos; at += 6) json.replace(at, 1, "\\u003c");
  return json;
}

}  // namespace minigpt::tools
