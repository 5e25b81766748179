// Reads numbers beyond plain digits, for the lexer: repeating decimals, times of day, dates.
#pragma once

#include <string>
#include <string_view>

namespace roll::math {

/// The continuation of a number after its digits.
struct Period {
  size_t length = 0;   // bytes that belong to the number
  size_t begin = 0;    // offset in the number's text where `digits` start to repeat
  std::string digits;  // "" if no digits repeat
};

/// Reads `rest`, the text after `number` ("0.1" or "0"): "\overline{6}", ".\overline{3}", ".\dot{1}4\dot{2}", ".(3)",
/// or "..." and "\ldots" after repeating digits. After other decimals the dots belong to the number without a meaning.
Period period_at(std::string_view rest, std::string_view number);

/// Returns the length of a time ("3:05", "11:30 PM") or, with `may_be_date`, of "2024-03-01" at the start; else 0.
/// "3:15" alone gives 0, because it may be a ratio.
size_t time_or_date(std::string_view text, bool may_be_date);

/// Returns "3:05pm" for "3:05 \text{ P.M.}".
std::string words_of_time(std::string_view text);

}  // namespace roll::math
