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

/// A reward function per domain, whose rules for data rows are used here; none is prepared to score.
using DomainRules = std::map<std::string, std::unique_ptr<RewardFunction>>;

/// Makes the rewards of all domains. Throws UserError if the keys of a reward are wrong (make_reward()).
DomainRules make_domain_rules(const Config& config);

/// Checks rows that are added in batches: the columns that the reward of a row's domain needs must be there and well
/// formed. Rows whose domain is not in `rules` are skipped.
class RewardRowCheck {
 public:
  /// `rules` must outlive the object.
  explicit RewardRowCheck(const DomainRules& rules) : rules_(rules) {}
  /// Checks the rows; remembers failures, and does not throw.
  void add(std::span<const Row> rows);
  /// Throws UserError if a row that was added failed; the message is that of check_reward_rows().
  void throw_if_any() const;

 private:
  const DomainRules& rules_;
  std::string first_error_;
  Origins other_rows_;
};

/// Checks all rows at once. Throws UserError if the reward of a row's domain cannot judge the row: the message is
/// "file:line: column = value: rule; remedy" for the first such row, and the number of others.
void check_reward_rows(std::span<const Row> rows, const DomainRules& rules);

}  // namespace roll
