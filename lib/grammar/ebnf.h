// Pieces of grammars in the notation that xgrammar reads: rules "name ::= body" with literals, classes and repetitions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace roll {

/// The literal that matches `text` (UTF-8) byte by byte.
std::string ebnf_literal(std::string_view text);

/// Code points, as ranges whose ends belong to them.
using Characters = std::vector<std::pair<uint32_t, uint32_t>>;

/// All others of Unicode.
Characters all_but(Characters characters);

/// The class of those of `characters` that stand in a JSON string as they are; "" if none does. Ranges are cut where
/// the bytes of UTF-8 change their number or limits, as xgrammar 0.1.34 otherwise lets pass bytes that are no UTF-8.
std::string ebnf_plain_characters(const Characters& characters);

/// "{2,5}", "{3,}", "{4}".
std::string ebnf_times(int64_t least, std::optional<int64_t> most);

/// Whole numbers of `least` to `most` as JSON writes them, without an exponent. Bug: the range is empty, or a bound has
/// more than 18 digits.
std::string ebnf_integers(int64_t least, int64_t most);

/// Numbers n / 10^decimals of least to most, with exactly so many decimals (1 to 6).
std::string ebnf_decimals(int64_t least, int64_t most, int decimals);

}  // namespace roll
