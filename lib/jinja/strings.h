// Python's string methods for UTF-8 text, used by the interpreter's filters and methods. Each comment names the method
// that the function computes. They charge the thread's Budget (budget.h), and throw Failure (value.h) if it is used up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jinja/value.h"

namespace roll::jinja {

/// str.find(part) from byte `from` on; returns the match's byte offset in `s`, or std::string::npos if there is no
/// match. Takes linear time, unlike std::string::find.
size_t find_text(const std::string& s, const std::string& part, size_t from);

/// str.split(separator, limit): splits at most `limit` times, or without limit if it is negative. nullopt splits at
/// whitespace.
std::vector<std::string> split(const std::string& s, const std::optional<std::string>& separator, int64_t limit);

/// str.rsplit(separator, limit): as split(), but the `limit` splits are the last ones. Parts are in text order.
std::vector<std::string> split_from_end(const std::string& s, const std::optional<std::string>& separator,
                                        int64_t limit);

/// str.splitlines().
std::vector<std::string> split_lines(const std::string& s);

/// str.strip(characters), str.lstrip (only `left`) or str.rstrip (only `right`); nullopt strips whitespace.
std::string stripped(const std::string& s, const std::optional<std::string>& characters, bool left, bool right);

/// str.replace(old, replacement, count): replaces the first `count` matches, or all if it is negative.
std::string replaced(const std::string& s, const std::string& old, const std::string& replacement, int64_t count);

/// str.count(part): number of matches that do not overlap.
int64_t count_occurrences(const std::string& s, const std::string& part);

/// separator.join(parts), with the text() of each part.
std::string joined(const List& parts, const std::string& separator);

std::string lowered(const std::string& s);      // str.lower()
std::string uppered(const std::string& s);      // str.upper()
std::string capitalized(const std::string& s);  // str.capitalize()
std::string titled(const std::string& s);       // str.title()

}  // namespace roll::jinja
