// Escapes text for HTML pages.
#pragma once

#include <string>
#include <string_view>

namespace roll {

/// Returns `text` with & < > " as entities: for the contents of elements, and attribute values in double quotes.
std::string escaped_html(std::string_view text);

/// Returns `json`, one line of JSON, with < > & and Unicode line separators in its strings as JSON escapes, so that it
/// may be put into a <script> element.
std::string json_in_html(std::string_view json);

}  // namespace roll
