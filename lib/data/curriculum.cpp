#include "data/curriculum.h"

#include <algorithm>
#include <cmath>

namespace roll {

namespace {

constexpr char kUnknown = '~', kNoneRight = '#';
constexpr int kParts = 56;  // divisible by group sizes 2, 4, 7 and 8

bool is_rate(char part) {
  return part == kUnknown || (part >= kNoneRight && part <= kNoneRight + kParts);
}

}  // namespace

Curriculum make_curriculum(const DataArgs& data) {
  return {data.sampler, data.sampler_floor, data.domain_interleave_schedule};
}

std::map<std::string, double> shares_at(const std::map<std::string, double>& first,
                                        const std::vector<ScheduledShares>& schedule, int64_t step) {
  ScheduledShares before{1, first};
  for (const ScheduledShares& next : schedule) {
    if (step >= next.step) {
      before = next;
      continue;
    }
    const double part = static_cast<double>(step - before.step) / static_cast<double>(next.step - before.step);
    std::map<std::string, double> shares;
    for (const auto& [domain, share] : before.probs) shares[domain] += (1 - part) * share;
    for (const auto& [domain, share] : next.probs) shares[domain] += part * share;
    return shares;
  }
  return before.probs;
}

bool PassRates::load(const std::string& text) {
  if (text.size() != parts_.size() || !std::ranges::all_of(text, is_rate)) return false;
  parts_ = text;
  return true;
}

void PassRates::set(int64_t row, double rate) {
  parts_.at(static_cast<size_t>(row)) =
      static_cast<char>(kNoneRight + std::lround(std::clamp(rate, 0.0, 1.0) * kParts));
}

double PassRates::weight(int64_t row, double floor) const {
  const char part = parts_.at(static_cast<size_t>(row));
  if (part == kUnknown) return 1;
  const double rate = static_cast<double>(part - kNoneRight) / kParts;
  return std::max(floor, 4 * rate * (1 - rate));
}

}  // namespace roll
