#include "train/domain_rewards.h"

#include <algorithm>

#include "base/error.h"

namespace roll {

DomainRewards::DomainRewards(const std::map<std::string, RewardWorkerConfig>& rewards, int64_t response_length) {
  for (const auto& [domain, worker] : rewards)
    domains_[domain].pool =
        std::make_unique<RewardPool>(worker.reward, response_length, fmt::format("rewards.{}.", domain));
}

void DomainRewards::submit(const std::string& domain, int64_t response, RewardQuery query) {
  auto& [pool, open] = domains_.at(domain);
  open[pool->submit(std::move(query))] = response;
}

bool DomainRewards::is_open() const {
  return std::ranges::any_of(domains_, [](const auto& domain) { return !domain.second.open.empty(); });
}

std::map<int64_t, RewardResult> DomainRewards::take_done() {
  std::map<int64_t, RewardResult> results;
  for (auto& [name, domain] : domains_)
    for (auto& [number, result] : domain.pool->take_done())
      results[domain.open.extract(number).mapped()] = std::move(result);
  return results;
}

std::map<int64_t, RewardResult> DomainRewards::take_all() {
  std::map<int64_t, RewardResult> results;
  for (auto& [name, domain] : domains_) {
    auto given = domain.pool->collect();
    ROLL_CHECK_EQ(given.size(), domain.open.size(), "a reward pool answers every query");
    auto result = given.begin();
    for (const auto& [number, response] : domain.open) results[response] = std::move(*result++);
    domain.open.clear();
  }
  return results;
}

void DomainRewards::drop(const std::string& domain, int64_t response) {
  auto& [pool, open] = domains_.at(domain);
  const auto found = std::ranges::find_if(open, [&](const auto& entry) { return entry.second == response; });
  if (found == open.end()) return;
  pool->drop(found->first);
  open.erase(found);
}

}  // namespace roll
