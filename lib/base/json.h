// JSON and JSON lines with located errors. What is parsed here is bounded in size, in depth, and in the time that
// looking keys up takes, so that no file, row or answer of a program can exhaust stack, memory or patience.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace roll {

/// Keys stay in order, so that written lines read as they were built. An object costs time quadratic in its keys.
using Json = nlohmann::ordered_json;

/// Keys are sorted: for vocabularies and tables of weights, which have 100,000 keys.
using FileJson = nlohmann::json;

/// Levels of lists and objects in each other: copying, writing and reading a value recurse once a level.
constexpr int kMaxJsonDepth = 200;

/// Bytes of one text; the largest tokenizer.json that is known has 35 MB.
constexpr size_t kMaxJsonBytes = 128 << 20;

/// Parses `text`; `origin` (a file name, or file:line) opens the UserError of malformed text, which names line and
/// column, and of text beyond the bounds.
Json parse_json(std::string_view text, const std::string& origin);
FileJson parse_file_json(std::string_view text, const std::string& origin);

/// The same of what Python's json module writes, and transformers with it: numbers may be Infinity, -Infinity and NaN.
Json parse_python_json(std::string_view text, const std::string& origin);
FileJson parse_python_file_json(std::string_view text, const std::string& origin);

/// parse_file_json(), and UserError where the outermost object has a key twice.
FileJson parse_unique_json(std::string_view text, const std::string& origin);

/// Reads and parses a whole file. UserError: missing, unreadable, malformed, beyond the bounds.
Json read_json(const std::filesystem::path& file);
FileJson read_file_json(const std::filesystem::path& file);

/// std::getline that takes no more than kMaxJsonBytes; UserError "origin:line" where a line is longer, or cannot be
/// read.
bool next_line(std::istream& in, std::string& text, const std::string& origin, int64_t line);

/// Calls `row(line_number, value)` for each non-blank line of `in`; line numbers start at 1. `origin` names the stream
/// in errors. A line that is not a JSON object is a UserError "origin:line: ..."; what is no JSON lines at all, one
/// that names its format (other_format.h).
void for_each_json_line(std::istream& in, const std::string& origin,
                        const std::function<void(int64_t line, const Json& value)>& row);

/// One compact line (no newline); invalid UTF-8 in strings is replaced by U+FFFD, never an exception.
std::string to_line(const Json& value);

/// `x` rounded to 9 significant digits: enough for a float32 to survive, and short when dumped.
/// NaN and infinities become JSON null.
Json json_float(double x);

}  // namespace roll
