// Parses plain YAML scalars: YAML 1.1's booleans, and numbers as people write them (1e-6, .5, 5., 1_000).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace roll {

/// Parses true/false, yes/no, on/off in lower, Capital and UPPER case; nullopt otherwise.
std::optional<bool> parse_bool(std::string_view text);

/// Parses a whole number, decimal (with _ between digits) or 0x...; nullopt otherwise or if it exceeds 64 bits.
std::optional<int64_t> parse_whole(std::string_view text);

/// Parses a number, .inf or .nan; nullopt otherwise.
std::optional<double> parse_number(std::string_view text);

/// True for null, Null, NULL, ~ and the empty text.
bool is_null_word(std::string_view text);

}  // namespace roll
