// Plain YAML scalars as values: YAML 1.1's booleans, and numbers as people write them (1e-6, .5, 5., 1_000).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace roll {

/// true/false, yes/no, on/off in lower, Capital and UPPER case.
std::optional<bool> parse_bool(std::string_view text);

/// Decimal (with _ between digits) or 0x...; nullopt also when it does not fit 64 bits.
std::optional<int64_t> parse_whole(std::string_view text);

/// Whole numbers and fractions, .inf and .nan; nullopt otherwise.
std::optional<double> parse_number(std::string_view text);

/// null, Null, NULL, ~ and nothing.
bool is_null_word(std::string_view text);

}  // namespace roll
