#include "collect/domain_rewards.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace roll {

DomainRewards::DomainRewards(const RewardsByDomain& rewards, int64_t response_length, int64_t num_ranks, Log* log) {
  for (const auto& [domain, settings] : rewards) {
    const std::string where = fmt::format("rewards.{}.", domain);
    auto pool = std::make_unique<RewardPool>(settings.reward, response_length, where, num_ranks, log);
    const bool is_held = settings.asks_model || pool->takes_many();
    domains_[domain] = {.pool = std::move(pool), .is_held = is_held};
  }
}

void DomainRewards::submit(const std::string& domain, int64_t response, RewardQuery query) {
  Domain& state = domains_.at(domain);
  if (state.is_held)
    held_[domain][response] = std::move(query);
  else
    state.submitted[state.pool->submit(std::move(query))] = response;
}

/// Submits in the order of query names: it does not depend on the rank layout and keeps a prompt's responses together.
void DomainRewards::release() {
  for (auto& [name, held] : std::exchange(held_, {})) {
    std::vector<std::pair<uint64_t, int64_t>> order;
    for (const auto& [response, query] : held) order.emplace_back(query.name, response);
    std::ranges::sort(order);
    std::vector<RewardQuery> queries;
    for (const auto& [query_name, response] : order) queries.push_back(std::move(held.at(response)));
    Domain& domain = domains_.at(name);
    const std::vector<int64_t> numbers = domain.pool->submit(std::move(queries));
    for (size_t i = 0; i < numbers.size(); ++i) domain.submitted[numbers[i]] = order[i].second;
  }
}

std::map<int64_t, RewardResult> DomainRewards::take_done() {
  std::map<int64_t, RewardResult> results;
  for (auto& [name, domain] : domains_)
    for (auto& [number, result] : domain.pool->take_done())
      results[domain.submitted.extract(number).mapped()] = std::move(result);
  return results;
}

std::map<int64_t, RewardResult> DomainRewards::take_all() {
  std::map<int64_t, RewardResult> results;
  for (auto& [name, domain] : domains_) {
    auto ordered_results = domain.pool->collect();
    ROLL_CHECK_EQ(ordered_results.size(), domain.submitted.size(), "a reward pool answers every query");
    auto result = ordered_results.begin();
    for (const auto& [number, response] : domain.submitted) results[response] = std::move(*result++);
    domain.submitted.clear();
  }
  return results;
}

void DomainRewards::drop(const std::string& domain, int64_t response) {
  Domain& state = domains_.at(domain);
  if (state.is_held) held_[domain].erase(response);
  const auto found = std::ranges::find_if(state.submitted, [&](const auto& entry) { return entry.second == response; });
  if (found == state.submitted.end()) return;
  state.pool->drop(found->first);
  state.submitted.erase(found);
}

}  // namespace roll
