#include "train/group_quota.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace roll {

bool is_useful(std::span<const RolloutRecord> group, const QueryFilterConfig& filter) {
  if (filter.type == QueryFilter::kNone) return true;
  const auto size = static_cast<double>(group.size());
  double sum = 0, squares = 0;
  for (const auto& record : group) sum += record.score;
  const double mean = sum / size;
  for (const auto& record : group) squares += (record.score - mean) * (record.score - mean);
  const QueryFilterArgs& args = filter.filter_args;
  if (filter.type == QueryFilter::kMean) return mean > args.threshold_down && mean < args.threshold_up;
  return std::sqrt(squares / (size - 1)) > args.std_threshold;
}

GroupQuota::GroupQuota(const std::map<std::string, int64_t>& owed, const std::map<std::string, int64_t>& num_prompts,
                       int64_t group_size, const std::map<std::string, RewardWorkerConfig>& rewards)
    : group_size_(group_size), rewards_(rewards) {
  for (const auto& [name, count] : owed)
    if (count > 0) domains_[name] = {.owed = count, .num_prompts = num_prompts.at(name)};
}

std::map<std::string, int64_t> GroupQuota::missing() const {
  std::map<std::string, int64_t> missing;
  for (const auto& [name, domain] : domains_) {
    const int64_t count = domain.owed - std::ssize(domain.kept) / group_size_;
    if (count > 0) missing[name] = count;
  }
  return missing;
}

void GroupQuota::add(const std::vector<RolloutRecord>& records) {
  for (size_t begin = 0; begin < records.size(); begin += static_cast<size_t>(group_size_)) {
    const std::span group(&records[begin], static_cast<size_t>(group_size_));
    Domain& domain = domains_.at(group.front().domain);
    ++domain.num_sampled, ++domain.num_lost;
    if (!is_useful(group, rewards_.at(group.front().domain).reward.query_filter_config)) continue;
    domain.num_lost = 0;
    domain.kept.insert(domain.kept.end(), group.begin(), group.end());
  }
  for (const auto& [name, domain] : domains_) throw_if_hopeless(name, domain);
}

void GroupQuota::throw_if_hopeless(const std::string& name, const Domain& domain) const {
  const int64_t num_kept = std::ssize(domain.kept) / group_size_;
  if (num_kept == domain.owed || domain.num_lost < std::max(domain.num_prompts, domain.owed)) return;
  const QueryFilterConfig& filter = rewards_.at(name).reward.query_filter_config;
  throw user_error(
      "rewards.{}.query_filter_config: {} has dropped the last {} groups of domain {}, whose data has {} prompts; the "
      "step has {} of its {} groups. Loosen the filter, or use data that is neither too easy nor too hard",
      name, name_of(filter.type), domain.num_lost, name, domain.num_prompts, num_kept, domain.owed);
}

std::map<std::string, int64_t> GroupQuota::num_sampled() const {
  std::map<std::string, int64_t> sampled;
  for (const auto& [name, domain] : domains_) sampled[name] = domain.num_sampled;
  return sampled;
}

std::vector<RolloutRecord> GroupQuota::take() {
  std::vector<RolloutRecord> all;
  for (auto& [name, domain] : domains_)
    for (RolloutRecord& record : domain.kept) {
      record.group_index = std::ssize(all) / group_size_;
      all.push_back(std::move(record));
    }
  return all;
}

}  // namespace roll
