#include "settings/reward_rows.h"

#include "base/error.h"
#include "data/leaks.h"

namespace roll {

DomainRules rules_of(const Config& config) {
  DomainRules rules;
  for (const auto& [domain, worker] : config.rewards)
    rules[domain] = make_reward(worker.reward, config.response_length.value_or(0), fmt::format("rewards.{}.", domain));
  return rules;
}

void check_reward_rows(std::span<const Row> rows, const DomainRules& rules) {
  std::string first;
  std::vector<std::string> others;
  for (const Row& row : rows) {
    const auto rule = rules.find(row.domain);
    if (rule == rules.end()) continue;
    try {
      rule->second->check_row(row.raw);
    } catch (const UserError& error) {
      if (first.empty())
        first = fmt::format("{}: {} (needed by rewards.{})", row.origin, error.what(), row.domain);
      else
        others.push_back(row.origin);
    }
  }
  if (first.empty()) return;
  if (others.empty()) throw UserError(first);
  throw user_error("{}; and {} more such row{} ({}); `roll data check --all` shows each", first, others.size(),
                   others.size() > 1 ? "s" : "", list_origins(others));
}

}  // namespace roll
