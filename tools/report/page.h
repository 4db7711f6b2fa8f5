#pragma once
// The page that `minigpt inspect --out` writes: one file of HTML with its scripts, styles, licences and data in it.

#include "tools/report/inspection.h"

namespace minigpt::tools {

// Was the page's program bundled when minigpt was built (MINIGPT_REPORT)?
bool has_report_page();

// Throws Error if it was not.
std::string report_page(const Json& inspection);

// What stands in for the page where scripts are switched off: tables, and pictures in SVG.
std::string plain_report(const Json& inspection);

// JSON for use inside a script element: nothing in it can end the element or begin a comment.
std::string escape_script(std::string json);

}  // namespace minigpt::tools
