// Dynamic sampling: a step trains on groups from which something can be learnt. Every domain owes the step its share of
// groups; where its query_filter_config drops some, more prompts of that domain are sampled.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "settings/config.h"
#include "train/rollout_record.h"

namespace roll {

/// Whether the filter keeps a group, by its scores: mean_filter where threshold_down < mean < threshold_up, std_filter
/// where the deviation (n - 1) is above std_threshold.
bool is_useful(std::span<const RolloutRecord> group, const QueryFilterConfig& filter);

class GroupQuota {
 public:
  /// `owed`: groups of each domain; `num_prompts`: how many prompts each domain's data holds.
  GroupQuota(const std::map<std::string, int64_t>& owed, const std::map<std::string, int64_t>& num_prompts,
             int64_t group_size, const std::map<std::string, RewardWorkerConfig>& rewards);

  bool is_full() const { return missing().empty(); }
  /// How many prompts of which domain to sample next; domains that have all are left out.
  std::map<std::string, int64_t> missing() const;
  /// Keeps the useful ones of scored groups, `records` in data order. UserError: a domain that lacks groups lost as
  /// many in a row as its data has prompts (and at least what it owes): there is no hope for better ones.
  void add(const std::vector<RolloutRecord>& records);
  /// Groups that were added, by domain, useful or not.
  std::map<std::string, int64_t> num_sampled() const;
  /// What was kept, domain after domain; group_index numbers the groups anew.
  std::vector<RolloutRecord> take();

 private:
  struct Domain {
    int64_t owed = 0, num_prompts = 0;
    int64_t num_sampled = 0;
    int64_t num_lost = 0;  // in a row
    std::vector<RolloutRecord> kept{};
  };
  void throw_if_hopeless(const std::string& name, const Domain& domain) const;

  int64_t group_size_;
  const std::map<std::string, RewardWorkerConfig>& rewards_;
  std::map<std::string, Domain> domains_;
};

}  // namespace roll
