// Builds pieces of grammars in xgrammar's notation: rules "name ::= body" with literals, classes and repetitions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace roll {

/// Returns the literal that matches `text` (UTF-8) byte by byte.
std::string ebnf_literal(std::string_view text);

/// Code points, as ranges that include both ends.
using Characters = std::vector<std::pair<uint32_t, uint32_t>>;

/// Returns all other Unicode code points.
Characters complement(Characters characters);

/// Returns a character class of the `characters` that a JSON string may hold unescaped; "" if there are none. Ranges
/// are split where the UTF-8 length or byte limits change, because xgrammar 0.1.34 would otherwise accept invalid
/// UTF-8.
std::string ebnf_plain_characters(const Characters& characters);

/// Returns a repetition: "{2,5}", "{3,}" or "{4}".
std::string ebnf_times(int64_t least, std::optional<int64_t> most);

/// Returns a grammar of the integers from `least` to `most` in JSON, without exponent. Bug: the range is empty, or a
/// bound has more than 18 digits.
std::string ebnf_integers(int64_t least, int64_t most);

/// Returns a grammar of the numbers n / 10^decimals for n from `least` to `most`, with exactly `decimals` (1 to 6)
/// decimals.
std::string ebnf_decimals(int64_t least, int64_t most, int decimals);

}  // namespace roll
