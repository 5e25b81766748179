#include "base/html.h"

namespace roll {

std::string escaped_html(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '&')
      safe += "&amp;";
    else if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else if (c == '"')
      safe += "&quot;";
    else
      safe += c;
  }
  return safe;
}

std::string json_in_html(std::string_view json) {
  // These characters occur only in strings, where JSON allows escapes.
  constexpr std::string_view kLineEnds = "\xe2\x80";  // U+2028 and U+2029 begin with these bytes
  std::string safe;
  for (size_t i = 0; i < json.size(); ++i) {
    const std::string_view rest = json.substr(i);
    if (rest[0] == '<' || rest[0] == '>' || rest[0] == '&') {
      safe += rest[0] == '<' ? "\\u003c" : rest[0] == '>' ? "\\u003e" : "\\u0026";
    } else if (rest.starts_with(kLineEnds) && rest.size() > 2 && (rest[2] == '\xa8' || rest[2] == '\xa9')) {
      safe += rest[2] == '\xa8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      safe += rest[0];
    }
  }
  return safe;
}

}  // namespace roll
