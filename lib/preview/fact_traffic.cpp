#include "preview/fact_traffic.h"

#include <numeric>
#include <set>

#include "experience/config.h"
#include "preview/step_routes.h"
#include "reward/reward.h"
#include "train/advantage_stage.h"
#include "train/messages.h"

namespace roll {

namespace {

constexpr int64_t kSamplerCounts = 6;  // collect.cpp's add_counts
constexpr int64_t kRewardCounts = 6;   // collect_statistics.cpp's add_rewards: retries, RewardUse, what could be had

/// Responses that a rank has, the greedy ones among them of which only the reward counts.
int64_t num_records(const ThinStep& step, const std::vector<int64_t>& share, bool with_baselines) {
  return std::ssize(share) + (with_baselines ? std::ssize(share) / step.group_size : 0);
}

/// The bytes of each teller to all of its group, in which each may stand for several.
void tell_all(TrafficForecast& forecast, const char* phase, const Travellers& tellers,
              const std::vector<int64_t>& bytes) {
  const int64_t all = std::reduce(bytes.begin(), bytes.end()), planned = std::ssize(bytes);
  for (size_t i = 0; i < bytes.size(); ++i) {
    const Group& group = tellers.groups[i];
    PhaseTraffic(forecast, tellers.ranks[i], phase).all_gather_bytes(group, bytes[i], all * group.own.size / planned);
  }
}

/// Two sums that moments are made of, several times.
void add_moments(PhaseTraffic& traffic, const Group& ranks, int64_t times) {
  traffic.all_reduce(ranks, Path::kHost, 2, kNumberBytes, times);
  traffic.all_reduce(ranks, Path::kHost, 1, kNumberBytes, times);
}

/// Of `num_responses` that statistics are taken of, in build.cpp: moments, and numbers of each response.
void add_completion(PhaseTraffic& traffic, const Group& ranks, const ExperienceConfig& config, bool has_kl,
                    int64_t num_responses) {
  add_moments(traffic, ranks, has_kl + config.whiten_rewards + config.whitens());
  const std::string_view estimator = config.adv_estimator->name;
  const int64_t told = estimator == "gpg" ? 2 : estimator == "rloo" || estimator == "opo" ? 1 : 0;
  traffic.all_reduce(ranks, Path::kHost, num_responses, kNumberBytes, told);
}

}  // namespace

void add_collection_traffic(TrafficForecast& forecast, const RoleView& sampler, const Config& config,
                            const ThinStep& step, const Distribution& holders) {
  const auto num_failures = std::ssize(names_of(RewardFailure()));
  const auto with_baselines = config.experience.adv_estimator->samples_baseline;
  std::vector<int64_t> told_bytes;
  for (int64_t i = 0; i < std::ssize(sampler.ranks()); ++i) {
    const int rank = sampler.ranks()[i];
    const Group all = sampler.all(i);
    PhaseTraffic traffic(forecast, rank, "generate");
    traffic.all_reduce(all, Path::kHost, kSamplerCounts, kNumberBytes);
    traffic.all_reduce(all, Path::kHost, 1, kNumberBytes);
    const int64_t of_domain = num_failures + kRewardCounts;
    traffic.all_reduce(all, Path::kHost, 1, kNumberBytes, of_domain * std::ssize(config.rewards));
    ResponseLengths told;
    told.lengths.resize(num_records(step, holders.shares[rank], with_baselines));
    told_bytes.push_back(encoded_size(told));
  }
  tell_all(forecast, "generate", travellers_of(sampler), told_bytes);
}

void add_fact_traffic(TrafficForecast& forecast, const SimulatedWorld& world, const ThinStep& step,
                      const Distribution& holders) {
  const auto with_baselines = world.planned.experience.adv_estimator->samples_baseline;
  std::vector<int64_t> fact_bytes;
  for (int rank = 0; rank < world.num_planned(); ++rank) {
    const std::vector<int64_t>& share = holders.shares[rank];
    std::set<std::string> domains;
    for (const int64_t s : share) domains.insert(step.domain_of_group[s / step.group_size]);
    FactsMessage told{.domains = {domains.begin(), domains.end()}, .facts = {}};
    told.facts.resize(num_records(step, share, with_baselines));
    fact_bytes.push_back(encoded_size(told));
  }
  tell_all(forecast, "rollouts", all_travellers(world), fact_bytes);
}

void add_statistics_traffic(TrafficForecast& forecast, const RoleView& actor, const Config& asked,
                            const ThinStep& step) {
  const ForwardNeeds needs = forward_needs(asked);
  const bool has_kl = needs.old_log_probs && needs.ref_log_probs;
  std::map<std::string, int64_t> domains;  // responses of each
  for (const std::string& domain : step.domain_of_group) domains[domain] += step.group_size;
  for (auto& [domain, num_responses] : domains)
    num_responses = num_responses * asked.sequences_per_step() / step.num_sequences();
  for (int64_t i = 0; i < std::ssize(actor.ranks()); ++i) {
    const Group dp = actor.dp(i);
    PhaseTraffic traffic(forecast, actor.ranks()[i], "forwards");
    if (!asked.experience.statistics_per_domain)
      add_completion(traffic, dp, asked.experience, has_kl, asked.sequences_per_step());
    for (const auto& [domain, num_responses] : domains)
      if (asked.experience.statistics_per_domain) add_completion(traffic, dp, asked.experience, has_kl, num_responses);
    // Each domain and the whole are described: how values explain returns, and the KL.
    add_moments(traffic, dp, (std::ssize(domains) + 1) * (2 * needs.values + has_kl));
  }
}

}  // namespace roll
