// Reads numbers beyond plain digits, for lexer.h: repeating decimals, times of day, dates.
#pragma once

#include <string>
#include <string_view>

namespace roll::math {

/// The mark that makes a number a repeating decimal: "\overline{6}" in "0.1\overline{6}".
struct Period {
  size_t length = 0;   // bytes of the mark; 0: there is no mark
  size_t begin = 0;    // bytes of the number before the mark that are kept; the repeating digits follow them
  std::string digits;  // the repeating digits; "" if no digits repeat
};

/// Reads the mark between `number` ("0.1" or "0") and the rest of the text; it begins `rest`. The mark is
/// "\overline{6}", ".\overline{3}", ".\dot{1}4\dot{2}" or ".(3)". "..." and "\ldots" are marks after a decimal; if its
/// digits do not repeat ("3.14..."), the result has a length but no digits.
Period period_at(std::string_view rest, std::string_view number);

/// Returns the length in bytes of the time ("3:05", "11:30 PM") or, with `may_be_date`, the date ("2024-03-01") at the
/// start of `text`; 0 if there is none. "3:15" without AM or PM gives 0, because it may be a ratio.
size_t time_or_date_length(std::string_view text, bool may_be_date);

/// Returns the canonical form of a time or date found by time_or_date_length(): "3:05pm" for "3:05 \text{ P.M.}".
std::string plain_time(std::string_view text);

}  // namespace roll::math
