#include "settings/reward_rows.h"

#include "base/error.h"

namespace roll {

DomainRules rules_of(const Config& config) {
  DomainRules rules;
  for (const auto& [domain, worker] : config.rewards)
    rules[domain] = make_reward(worker.reward, config.response_length.value_or(0), fmt::format("rewards.{}.", domain));
  return rules;
}

void check_reward_rows(std::span<const Row> rows, const DomainRules& rules) {
  std::string first;
  int64_t count = 0;
  for (const Row& row : rows) {
    const auto rule = rules.find(row.domain);
    if (rule == rules.end()) continue;
    try {
      rule->second->check_row(row.raw);
    } catch (const UserError& error) {
      if (count++ == 0) first = fmt::format("{}: {} (needed by rewards.{})", row.origin, error.what(), row.domain);
    }
  }
  if (count == 1) throw UserError(first);
  if (count > 1) throw user_error("{}; and {} more such row{}", first, count - 1, count > 2 ? "s" : "");
}

}  // namespace roll
