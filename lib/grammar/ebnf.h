// Pieces of grammars in the notation that xgrammar reads: rules "name ::= body" with literals, classes and repetitions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace roll {

/// The literal that matches `text` (UTF-8) byte by byte.
std::string ebnf_literal(std::string_view text);

/// "{2,5}", "{3,}", "{4}".
std::string ebnf_times(int64_t least, std::optional<int64_t> most);

/// Whole numbers of `least` to `most` as JSON writes them, without an exponent. Bug: the range is empty, or a bound has
/// more than 18 digits.
std::string ebnf_integers(int64_t least, int64_t most);

/// Numbers n / 10^decimals of least to most, with exactly so many decimals (1 to 6).
std::string ebnf_decimals(int64_t least, int64_t most, int decimals);

}  // namespace roll
