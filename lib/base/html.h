// Text as a part of an HTML page.
#pragma once

#include <string>
#include <string_view>

namespace roll {

/// `text` with what HTML takes for markup written as entities: for contents and for values in double quotes.
std::string escaped_html(std::string_view text);

/// One line of JSON as the content of a <script> element: no text in it can end that element or a line of its script.
std::string json_in_html(std::string_view json);

}  // namespace roll
