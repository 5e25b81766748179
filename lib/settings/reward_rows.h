// Checks data rows against the rewards of their domains, so that missing columns are found before a model is opened.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/leaks.h"
#include "data/rows.h"
#include "reward/reward.h"
#include "settings/config.h"

namespace roll {

/// Rewards by domain, made for checking rows; not prepared to score.
using DomainRules = std::map<std::string, std::unique_ptr<RewardFunction>>;

/// Makes the rewards of all domains. UserError: as for make_reward().
DomainRules make_domain_rules(const Config& config);

/// Checks that rewards can judge rows, which are added in batches.
class RewardRowCheck {
 public:
  /// `rules` must outlive the object.
  explicit RewardRowCheck(const DomainRules& rules) : rules_(rules) {}
  void add(std::span<const Row> rows);
  /// UserError: a row that was added cannot be judged; as for check_reward_rows().
  void throw_if_any() const;

 private:
  const DomainRules& rules_;
  std::string first_error_;
  Origins other_rows_;
};

/// Checks that each row's reward can judge it; skips rows whose domain is not in `rules`. UserError: some row cannot be
/// judged; the message is "file:line: column = value: rule; remedy" for the first, and the number of others.
void check_reward_rows(std::span<const Row> rows, const DomainRules& rules);

}  // namespace roll
