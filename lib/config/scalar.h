// Parses YAML scalars without quotes: YAML 1.1's booleans, and numbers as people write them (1e-6, .5, 5., 1_000). The
// whole text must fit, without blanks.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace roll {

/// Parses true/false, yes/no, on/off in lower, Capital and UPPER case; nullopt otherwise.
std::optional<bool> parse_bool(std::string_view text);

/// Parses a whole number, decimal or hexadecimal (0x...), perhaps with a sign, and with _ between digits; nullopt
/// otherwise or if it exceeds 64 bits.
std::optional<int64_t> parse_whole(std::string_view text);

/// Parses a number, whole or not, .inf, -.inf or .nan; nullopt otherwise. A number beyond double's range becomes
/// infinity or 0.
std::optional<double> parse_number(std::string_view text);

/// Returns true for YAML's words for null: null, Null, NULL, ~ and the empty text.
bool is_null_word(std::string_view text);

}  // namespace roll
