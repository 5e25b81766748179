// Text inside a page.
#pragma once

#include <string>
#include <string_view>

namespace roll {

/// With what HTML takes for markup written as entities; for contents and for values in double quotes.
std::string escaped_html(std::string_view text);

}  // namespace roll
