// Parses and writes JSON and JSON lines, with located errors. Size, depth and the time for key lookups are bounded, so
// that no input can exhaust stack, memory or time.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace roll {

/// JSON whose keys keep their order, so that written lines read as they were built. Building costs time quadratic in
/// keys.
using Json = nlohmann::ordered_json;

/// JSON with sorted keys, for vocabularies and weight tables with 100,000 keys.
using FileJson = nlohmann::json;

/// Maximum nesting of lists and objects; copying, writing and reading recurse once per level.
constexpr int kMaxJsonDepth = 200;

/// Maximum bytes of one text; the largest known tokenizer.json has 35 MB.
constexpr size_t kMaxJsonBytes = 128 << 20;

/// Parses `text`. UserError: malformed (with line and column) or beyond the bounds; the message starts with `origin`, a
/// file name or file:line.
Json parse_json(std::string_view text, const std::string& origin);
FileJson parse_file_json(std::string_view text, const std::string& origin);

/// Like the above, but accepts Infinity, -Infinity and NaN, which Python's json module (and so transformers) writes.
Json parse_python_json(std::string_view text, const std::string& origin);
FileJson parse_python_file_json(std::string_view text, const std::string& origin);

/// Like parse_file_json(). UserError also when the outermost object has a key twice.
FileJson parse_unique_json(std::string_view text, const std::string& origin);

/// Reads and parses a whole file. UserError: it is missing, unreadable, malformed or beyond the bounds.
Json read_json(const std::filesystem::path& file);
FileJson read_file_json(const std::filesystem::path& file);

/// Like std::getline. UserError "origin:line": the line exceeds kMaxJsonBytes, or cannot be read.
bool next_line(std::istream& in, std::string& text, const std::string& origin, int64_t line);

/// Calls `row(line_number, value)` for each non-blank line of `in`; line numbers start at 1. `origin` names the stream
/// in errors. UserError: "origin:line: ..." if a line is not a JSON object; names the format if `in` is not JSON lines
/// at all (other_format.h).
void for_each_json_line(std::istream& in, const std::string& origin,
                        const std::function<void(int64_t line, const Json& value)>& row);

/// Returns one compact line (no newline). Invalid UTF-8 in strings is replaced by U+FFFD; nothing is thrown.
std::string to_line(const Json& value);

/// Returns `x` rounded to 9 significant digits: enough for a float32 to survive, and short when dumped. NaN and
/// infinities become JSON null.
Json json_float(double x);

}  // namespace roll
