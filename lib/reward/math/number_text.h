// Forms of numbers beyond plain digits: repeating decimals, times of day, dates.
#pragma once

#include <string>
#include <string_view>

namespace roll::math {

/// How a number goes on behind its digits.
struct Period {
  size_t length = 0;   // bytes that belong to the number
  size_t begin = 0;    // of the number's text, from where `digits` repeat
  std::string digits;  // "": none repeat
};

/// `rest` follows `number` ("0.1" or "0"): "\overline{6}", ".\overline{3}", ".\dot{1}4\dot{2}", ".(3)", and "..." or
/// "\ldots" behind digits that repeat themselves. The dots of other decimals belong to the number and say nothing.
Period period_at(std::string_view rest, std::string_view number);

/// Length of a time ("3:05", "11:30 PM") or, where `may_be_date`, of "2024-03-01" at the start; else 0. "3:15" alone is
/// none, for it is a ratio too.
size_t time_or_date(std::string_view text, bool may_be_date);

/// "3:05pm" of "3:05 \text{ P.M.}".
std::string words_of_time(std::string_view text);

}  // namespace roll::math
