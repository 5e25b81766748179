#include "data/curriculum.h"

#include <algorithm>
#include <cmath>

namespace roll {

namespace {

constexpr char kUnknown = '~', kRateZero = '#';
constexpr int kRateSteps = 56;  // divisible by group sizes 2, 4, 7 and 8

bool is_rate_code(char code) {
  return code == kUnknown || (code >= kRateZero && code <= kRateZero + kRateSteps);
}

}  // namespace

Curriculum make_curriculum(const DataArgs& data) {
  return {data.sampler, data.sampler_floor, data.domain_interleave_schedule};
}

std::map<std::string, double> shares_at(const std::map<std::string, double>& first,
                                        const std::vector<ScheduledShares>& schedule, int64_t step) {
  ScheduledShares previous{1, first};
  for (const ScheduledShares& next : schedule) {
    if (step >= next.step) {
      previous = next;
      continue;
    }
    const double fraction = static_cast<double>(step - previous.step) / static_cast<double>(next.step - previous.step);
    std::map<std::string, double> shares;
    for (const auto& [domain, share] : previous.probs) shares[domain] += (1 - fraction) * share;
    for (const auto& [domain, share] : next.probs) shares[domain] += fraction * share;
    return shares;
  }
  return previous.probs;
}

bool PassRates::load(const std::string& text) {
  if (text.size() != codes_.size() || !std::ranges::all_of(text, is_rate_code)) return false;
  codes_ = text;
  return true;
}

void PassRates::set(int64_t row, double rate) {
  codes_.at(static_cast<size_t>(row)) =
      static_cast<char>(kRateZero + std::lround(std::clamp(rate, 0.0, 1.0) * kRateSteps));
}

double PassRates::weight(int64_t row, double floor) const {
  const char code = codes_.at(static_cast<size_t>(row));
  if (code == kUnknown) return 1;
  const double rate = static_cast<double>(code - kRateZero) / kRateSteps;
  return std::max(floor, 4 * rate * (1 - rate));
}

}  // namespace roll
