// Style (CSS) and script (JavaScript) of the report page, embedded in the binary from this folder's .css and .js files.
#pragma once

#include <string_view>

namespace roll {

/// Return the page's whole style, and its whole script.
std::string_view page_style();
std::string_view page_script();

}  // namespace roll
