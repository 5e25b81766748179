// Data rows against the rewards of their domains: what a reward needs and a row lacks is known before any model is
// opened.
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

/// By domain. Made to check rows with, not prepared to score.
using DomainRules = std::map<std::string, std::unique_ptr<RewardFunction>>;

/// UserError as make_reward().
DomainRules rules_of(const Config& config);

/// Whether rewards can judge rows that come in parts.
class RewardRowCheck {
 public:
  /// `rules` must outlive it.
  explicit RewardRowCheck(const DomainRules& rules) : rules_(rules) {}
  void add(std::span<const Row> rows);
  /// UserError, of all rows that were added: see check_reward_rows().
  void throw_if_any() const;

 private:
  const DomainRules& rules_;
  std::string first_;
  Origins others_;
};

/// UserError "file:line: column = value: rule; remedy" of the first row that its domain's reward could not judge, and
/// how many of `rows` there are. Rows have their domains; those of a domain that is not in `rules` are not looked at.
void check_reward_rows(std::span<const Row> rows, const DomainRules& rules);

}  // namespace roll
