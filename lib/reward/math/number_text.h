// Reads numbers beyond plain digits, for lexer.h: repeating decimals, times of day, dates.
#pragma once

#include <string>
#include <string_view>

namespace roll::math {

/// The mark of a repeating decimal after a number's plain digits.
struct Period {
  size_t length = 0;   // bytes of the mark; 0: there is none
  size_t begin = 0;    // number of bytes of the plain number that precede the repeating digits
  std::string digits;  // "" if no digits repeat
};

/// Reads the mark at the start of `rest`, the text after the plain number `number` ("0.1" or "0"): "\overline{6}",
/// ".\overline{3}", ".\dot{1}4\dot{2}" or ".(3)"; or "..." or "\ldots" if the digits of `number` repeat already. After
/// other decimals such dots are skipped: the result has a length, but no digits.
Period period_at(std::string_view rest, std::string_view number);

/// Returns the length in bytes of the time ("3:05", "11:30 PM") or, with `may_be_date`, the date ("2024-03-01") at the
/// start of `text`; 0 if there is none. "3:15" without AM or PM gives 0, because it may be a ratio.
size_t time_or_date_length(std::string_view text, bool may_be_date);

/// Returns the canonical form of a time or date found by time_or_date_length(): "3:05pm" for "3:05 \text{ P.M.}".
std::string plain_time(std::string_view text);

}  // namespace roll::math
