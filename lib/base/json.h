// Parses and writes JSON and JSON lines; errors name line and column. Size and depth are bounded, so that no input can
// exhaust stack, memory or time.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace roll {

/// JSON whose keys keep their order, so that written lines read as they were built. Adding keys by operator[] costs
/// time quadratic in their number (base/json_object.h avoids that); parsing does not.
using Json = nlohmann::ordered_json;

/// JSON with sorted keys, for objects with many keys, such as vocabularies and tables of weights. Lookup takes
/// logarithmic time.
using FileJson = nlohmann::json;

/// Maximum nesting of lists and objects in parsed text; copying and writing a value recurse once per level.
constexpr int kMaxJsonDepth = 200;

/// Maximum bytes of one parsed text; the largest known tokenizer.json has 35 MB.
constexpr size_t kMaxJsonBytes = 128 << 20;

/// These two parse `text` to an ordered or sorted value. They throw UserError if it is malformed (with line and
/// column), larger than kMaxJsonBytes or nested deeper than kMaxJsonDepth; the message starts with `origin`, a file
/// name or file:line. Of equal keys in an object, the last wins.
Json parse_json(std::string_view text, const std::string& origin);
FileJson parse_file_json(std::string_view text, const std::string& origin);

/// Like the two functions above, but they also accept Infinity, -Infinity and NaN, which Python's json module writes.
Json parse_python_json(std::string_view text, const std::string& origin);
FileJson parse_python_file_json(std::string_view text, const std::string& origin);

/// Like parse_file_json(). Throws UserError also if the outermost object has a key twice.
FileJson parse_unique_json(std::string_view text, const std::string& origin);

/// These two read and parse a whole file. They throw UserError if it is missing, unreadable, malformed, too large or
/// nested too deep.
Json read_json(const std::filesystem::path& file);
FileJson read_file_json(const std::filesystem::path& file);

/// Reads the next line into `text`, without the newline; returns false at the end. `line` is its number, for messages.
/// Throws UserError "origin:line: ..." if the line exceeds kMaxJsonBytes, or cannot be read.
bool next_line(std::istream& in, std::string& text, const std::string& origin, int64_t line);

/// Calls row(line, value) for each non-blank line of `in`; `line` is its number, from 1. `origin` names the stream in
/// errors. Throws UserError "origin:line: ..." if a line is not a JSON object. If the stream is in another known
/// format, such as Parquet, the message names that format.
void for_each_json_line(std::istream& in, const std::string& origin,
                        const std::function<void(int64_t line, const Json& value)>& row);

/// Returns one compact line (no newline). Invalid UTF-8 in strings is replaced by U+FFFD; nothing is thrown.
std::string to_line(const Json& value);

/// Returns `x` rounded to 9 significant digits, which is short and gives the same float32 when read. NaN and infinities
/// become JSON null.
Json json_float(double x);

}  // namespace roll
