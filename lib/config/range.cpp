#include "config/range.h"

#include <fmt/format.h>

#include <cmath>

namespace roll {

bool Range::holds(double value) const {
  if (also && value == *also) return true;
  if (!std::isfinite(value)) return false;
  return (includes_low ? value >= low : value > low) && (includes_high ? value <= high : value < high);
}

std::string Range::rule(double wrong) const {
  const bool has_low = std::isfinite(low), has_high = std::isfinite(high);
  const std::string be = std::isfinite(wrong) ? "must be" : "must be a finite number";
  const std::string other = also ? fmt::format(" {} or", *also) : "";
  if (!has_low && !has_high) return be;
  if (has_low && has_high && includes_low && includes_high) return fmt::format("{}{} in {}..{}", be, other, low, high);
  if (has_low && includes_low && !has_high)
    return fmt::format("{}{}{} {} or more", be, std::isfinite(wrong) ? "" : ",", other, low);
  const std::string from = has_low ? fmt::format(" {}{}", includes_low ? "at least " : "above ", low) : "";
  const std::string to = has_high ? fmt::format(" {}{}", includes_high ? "at most " : "below ", high) : "";
  return fmt::format("{}{}{}{}{}", be, other, from, has_low && has_high ? " and" : "", to);
}

std::string Range::brief() const {
  const std::string other = also ? fmt::format("{} or ", *also) : "";
  const bool has_low = std::isfinite(low), has_high = std::isfinite(high);
  if (!has_low && !has_high) return "";
  if (has_low && !has_high) return fmt::format("{}{} {}", other, includes_low ? ">=" : ">", low);
  if (!has_low) return fmt::format("{}{} {}", other, includes_high ? "<=" : "<", high);
  if (includes_low && includes_high) return fmt::format("{}{}..{}", other, low, high);
  return fmt::format("{}{}{}, {}{}", other, includes_low ? "[" : "(", low, high, includes_high ? "]" : ")");
}

}  // namespace roll
