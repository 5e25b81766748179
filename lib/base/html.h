// Escapes text for HTML pages.
#pragma once

#include <string>
#include <string_view>

namespace roll {

/// Returns `text` with HTML markup characters as entities: for contents and for values in double quotes.
std::string escaped_html(std::string_view text);

/// Returns one line of JSON for a <script> element; no string in it can end that element or a script line.
std::string json_in_html(std::string_view json);

}  // namespace roll
