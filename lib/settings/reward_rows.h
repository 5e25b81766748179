// Checks that data rows have the columns that the rewards of their domains need. Used before a model is opened, by
// train/prompts.h, settings/check_data.cpp and previews.
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

/// Reward functions by domain, for RewardFunction::check_row() only. They are not prepared to score.
using DomainRules = std::map<std::string, std::unique_ptr<RewardFunction>>;

/// Makes the rewards of all configured domains. Throws UserError if the keys of a reward are wrong (make_reward()).
DomainRules make_domain_rules(const Config& config);

/// Checks rows batch by batch. A row fails if a column that its domain's reward needs is missing or malformed. Rows of
/// a domain that is not in `rules` are skipped.
class RewardRowCheck {
 public:
  /// `rules` must outlive the object.
  explicit RewardRowCheck(const DomainRules& rules) : rules_(rules) {}
  /// Checks the rows and records failures; does not throw.
  void add(std::span<const Row> rows);
  /// Throws UserError if any row so far has failed, with the message of check_reward_rows().
  void throw_if_any() const;

 private:
  const DomainRules& rules_;
  std::string first_error_;
  Origins other_rows_;
};

/// Checks all rows at once, as RewardRowCheck does. Throws UserError if a row fails: "file:line: column = value: rule;
/// remedy" for the first such row, and the number of others.
void check_reward_rows(std::span<const Row> rows, const DomainRules& rules);

}  // namespace roll
