// JSON and JSON lines with located errors. Key order is kept, so that written lines read as they were built.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace roll {

using Json = nlohmann::ordered_json;

/// Parses `text`; `origin` (a file name, or file:line) opens the UserError of malformed text, which names line and
/// column.
Json parse_json(std::string_view text, const std::string& origin);

/// Reads and parses a whole file. UserError: missing, unreadable, malformed.
Json read_json(const std::filesystem::path& file);

/// Calls `row(line_number, value)` for each non-blank line of `in`; line numbers start at 1. `origin` names the stream
/// in errors. A line that is not a JSON object is a UserError "origin:line: ...".
void for_each_json_line(std::istream& in, const std::string& origin,
                        const std::function<void(int64_t line, const Json& value)>& row);

/// One compact line (no newline); invalid UTF-8 in strings is replaced by U+FFFD, never an exception.
std::string to_line(const Json& value);

/// `x` rounded to 9 significant digits: enough for a float32 to survive, and short when dumped.
/// NaN and infinities become JSON null.
Json json_float(double x);

}  // namespace roll
