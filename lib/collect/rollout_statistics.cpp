#include "collect/rollout_statistics.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace roll {

namespace {

/// Returns how many retries a reward needed.
int64_t retry_count(const Json& detail) {
  const auto retries = detail.find("retries");
  return retries != detail.end() && retries->is_number_integer() ? retries->get<int64_t>() : 0;
}

double ratio(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace

void RolloutStatistics::add_counts(const SamplerCounts& local, Mesh& mesh) {
  constexpr int64_t SamplerCounts::*kSummed[] = {&SamplerCounts::prompt_tokens, &SamplerCounts::shared_tokens,
                                                 &SamplerCounts::decoded,       &SamplerCounts::drawn,
                                                 &SamplerCounts::guessed,       &SamplerCounts::guessed_right,
                                                 &SamplerCounts::evictions,     &SamplerCounts::slot_steps};
  at::Tensor reduced = at::zeros({std::ssize(kSummed)}, at::kLong);
  auto* const sums = reduced.data_ptr<int64_t>();
  if (mesh.is_leader())
    for (int64_t i = 0; i < std::ssize(kSummed); ++i) sums[i] = local.*kSummed[i];
  mesh.world().all_reduce_sum(reduced, "sampler counts");
  for (int64_t i = 0; i < std::ssize(kSummed); ++i) counts.*kSummed[i] += sums[i];
  counts.most_pages = std::max(counts.most_pages, mesh.world().all_reduce_max(local.most_pages, "KV pages"));
  counts.num_pages = std::max(counts.num_pages, local.num_pages);
}

RewardedResponses RolloutStatistics::add_rewards(const std::string& domain, const std::vector<RolloutRecord>& local,
                                                 const RewardUse& local_use, Mesh& mesh) {
  RewardFaults failed;
  RewardedResponses local_responses;
  int64_t num_retries = 0;
  for (const RolloutRecord& record : local) {
    if (record.domain != domain) continue;
    failed.add(record.reward_detail);
    ++local_responses.total;
    local_responses.rewarded += !reward_failure(record.reward_detail);
    local_responses.without_environment += record.reward_detail.contains("environment");
    num_retries += retry_count(record.reward_detail);
  }
  Communicator& ranks = mesh.world();
  for (const auto& [failure, name] : enum_names(RewardFailure()))
    faults[domain].counts[failure] += ranks.all_reduce_sum(failed.count(failure), "failed rewards");
  retries[domain] += ranks.all_reduce_sum(num_retries, "retries of rewards");
  RewardUse& total_use = use[domain];
  total_use.num_scored += ranks.all_reduce_sum(local_use.num_scored, "scored responses");
  total_use.total_s += ranks.all_reduce_sum(local_use.total_s, "reward times");
  total_use.longest_s = std::max(total_use.longest_s, ranks.all_reduce_max(local_use.longest_s, "longest reward"));
  total_use.most_waiting =
      std::max(total_use.most_waiting, ranks.all_reduce_max(local_use.most_waiting, "waiting rewards"));
  return {.total = ranks.all_reduce_sum(local_responses.total, "responses of a domain"),
          .rewarded = ranks.all_reduce_sum(local_responses.rewarded, "rewarded responses"),
          .without_environment = ranks.all_reduce_sum(local_responses.without_environment, "failed environments")};
}

void RolloutStatistics::add_to(Metrics& metrics) const {
  metrics.add("time/step_generate", generate_s);
  metrics.add("time/step_generate_wait", wait_s);
  metrics.add("time/step_rewards", rewards_s);
  metrics.add("rollout/tokens_per_s", static_cast<double>(counts.drawn) / (generate_s + wait_s));
  metrics.add("rollout/slots_busy", ratio(counts.decoded, counts.slot_steps));
  metrics.add("rollout/guessed@sum", static_cast<double>(counts.guessed));
  metrics.add("rollout/guessed_right", ratio(counts.guessed_right, counts.guessed));
  metrics.add("rollout/guess_speedup", ratio(counts.drawn, counts.drawn - counts.guessed_right));
  metrics.add("rollout/kv_pages_used", ratio(counts.most_pages, counts.num_pages));
  metrics.add("rollout/prefix_hits", ratio(counts.shared_tokens, counts.shared_tokens + counts.prompt_tokens));
  metrics.add("rollout/evictions@sum", static_cast<double>(counts.evictions));
  for (const auto& [domain, domain_use] : use) {
    for (const auto& prefix : {std::string(), domain + "/"})
      metrics.add(prefix + "reward/retries@sum", static_cast<double>(retries.at(domain)));
    metrics.add(domain + "/reward/waiting@max", static_cast<double>(domain_use.most_waiting));
    if (domain_use.num_scored == 0) continue;
    metrics.add(domain + "/reward/seconds/mean", domain_use.total_s / static_cast<double>(domain_use.num_scored));
    metrics.add(domain + "/reward/seconds/max", domain_use.longest_s);
  }
  for (const auto& [domain, failed] : faults)
    for (const auto& prefix : {std::string(), domain + "/"}) {
      metrics.add(prefix + "reward/timeouts@sum", static_cast<double>(failed.count(RewardFailure::kTimeout)));
      metrics.add(prefix + "reward/errors@sum", static_cast<double>(failed.errors()));
      for (const auto& [failure, name] : enum_names(RewardFailure()))
        if (failure != RewardFailure::kTimeout)
          metrics.add(fmt::format("{}reward/errors/{}@sum", prefix, name), static_cast<double>(failed.count(failure)));
    }
}

}  // namespace roll
