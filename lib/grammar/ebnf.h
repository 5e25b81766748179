// Builds pieces of grammars in xgrammar's EBNF notation, for json_grammar.h and pattern.h. A grammar is a list of rules
// "name ::= body". A piece is a body or a part of one: literals, character classes, repetitions, alternatives.
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

/// Returns all Unicode code points that are not in `characters`, which may be unsorted and overlap; the result is
/// sorted.
Characters complement(Characters characters);

/// Returns the character class "[...]" of all `characters` that a JSON string may hold unescaped; "" if it may hold
/// none. Ranges are split where the UTF-8 length or the limits of bytes change, because xgrammar 0.1.34 would otherwise
/// accept invalid UTF-8.
std::string ebnf_plain_characters(const Characters& characters);

/// Returns the suffix for a repetition of `least` to `most` times: "{2,5}"; "{4}" if both are equal; "{3,}" if `most`
/// is nullopt (no limit).
std::string ebnf_times(int64_t least, std::optional<int64_t> most);

/// Returns a piece in parentheses that matches the integers from `least` to `most` as JSON writes them, without
/// exponent. Throws Bug if `least` > `most`, or if a bound has more than 18 digits.
std::string ebnf_integers(int64_t least, int64_t most);

/// Returns a piece in parentheses that matches the numbers n / 10^decimals for all n from `least` to `most`, written
/// with exactly `decimals` (1 to 6) digits after the point. Throws Bug as ebnf_integers().
std::string ebnf_decimals(int64_t least, int64_t most, int decimals);

}  // namespace roll
