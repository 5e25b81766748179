// Reads numbers beyond plain digits, for lexer.h: repeating decimals, times of day, dates.
#pragma once

#include <string>
#include <string_view>

namespace roll::math {

/// The mark that makes a number a repeating decimal: "\overline{6}" in "0.1\overline{6}". The value is that of the
/// first `begin` bytes of the number, followed by `digits` for ever, after a point if the number has none.
struct Period {
  size_t length = 0;   // bytes of the mark; 0: there is no mark
  size_t begin = 0;    // bytes of the number before the mark; before an ellipsis, less its repeating digits
  std::string digits;  // one period: "6"; "" if no digits repeat
};

/// Reads the mark at the start of `rest`, the text after `number` ("0.1" or "0"). After a decimal, a mark is
/// "\overline{6}", "\bar{6}" or "\dot{1}4\dot{2}"; after a whole number these with a point before them, or ".(3)". An
/// ellipsis ("...", "\ldots") after a decimal is a mark, too: the decimal must end with two equal periods, or three if
/// the period has one digit ("0.1666..."). If it does not ("3.14..."), the result has a length but no digits.
Period period_at(std::string_view rest, std::string_view number);

/// Returns the length in bytes of the time ("3:05", "11:30 PM") or, with `may_be_date`, the date ("2024-03-01") at the
/// start of `text`; 0 if there is none. Without AM or PM, only minutes below 10 make a time: "3:05" is one, but "3:15"
/// gives 0, because it may be a ratio. The second number of a ratio has no leading 0.
size_t time_or_date_length(std::string_view text, bool may_be_date);

/// Returns the canonical form of a time or date found by time_or_date_length(): "3:05pm" for "3:05 \text{ P.M.}"; a
/// date stays as it is.
std::string plain_time(std::string_view text);

}  // namespace roll::math
