#include "settings/reward_rows.h"

#include "base/error.h"

namespace roll {

DomainRules make_domain_rules(const Config& config) {
  DomainRules rules;
  for (const auto& [domain, worker] : config.rewards)
    rules[domain] = make_reward(worker.reward, config.response_length.value_or(0), fmt::format("rewards.{}.", domain));
  return rules;
}

void RewardRowCheck::add(std::span<const Row> rows) {
  for (const Row& row : rows) {
    const auto rule = rules_.find(row.domain);
    if (rule == rules_.end()) continue;
    try {
      rule->second->check_row(row.raw);
    } catch (const UserError& error) {
      if (first_error_.empty())
        first_error_ = fmt::format("{}: {} (needed by rewards.{})", row.origin, error.what(), row.domain);
      else
        other_rows_.add(row.origin);
    }
  }
}

void RewardRowCheck::throw_if_any() const {
  if (first_error_.empty()) return;
  if (other_rows_.size() == 0) throw UserError(first_error_);
  throw user_error("{}; and {} more such row{} ({}); `roll data check --all` shows each", first_error_,
                   other_rows_.size(), other_rows_.size() > 1 ? "s" : "", other_rows_.text());
}

void check_reward_rows(std::span<const Row> rows, const DomainRules& rules) {
  RewardRowCheck check(rules);
  check.add(rows);
  check.throw_if_any();
}

}  // namespace roll
