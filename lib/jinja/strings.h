// Python's string methods for UTF-8 text, used by filters and methods.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jinja/value.h"

namespace roll::jinja {

/// str.find from byte `from`; returns a byte offset or npos. Takes linear time, unlike std::string::find.
size_t find_text(const std::string& s, const std::string& part, size_t from);

/// str.split(separator, limit); without a separator, splits at whitespace. limit < 0: no limit.
std::vector<std::string> split(const std::string& s, const std::optional<std::string>& separator, int64_t limit);

/// str.rsplit(separator, limit): splits like split(), but counts `limit` from the end.
std::vector<std::string> split_from_end(const std::string& s, const std::optional<std::string>& separator,
                                        int64_t limit);

std::vector<std::string> split_lines(const std::string& s);

/// str.strip(characters) on the chosen sides; without `characters`, strips whitespace.
std::string stripped(const std::string& s, const std::optional<std::string>& characters, bool left, bool right);

/// str.replace(old, replacement, count); count < 0: all.
std::string replaced(const std::string& s, const std::string& old, const std::string& replacement, int64_t count);

/// str.count.
int64_t count_occurrences(const std::string& s, const std::string& part);

std::string joined(const List& parts, const std::string& separator);

std::string lowered(const std::string& s);
std::string uppered(const std::string& s);
std::string capitalized(const std::string& s);
std::string titled(const std::string& s);

}  // namespace roll::jinja
