// Prompts -> scored responses: the groups of ranks that share the sampler's weights share the samples out among them
// while they run (collection.h), rewards start as each response ends; what was sampled stays where it was.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/random.h"
#include "data/rows.h"
#include "dist/mesh.h"
#include "rollout/engine.h"
#include "settings/config.h"
#include "text/tokenizer.h"
#include "track/metrics.h"
#include "train/collection.h"
#include "train/domain_rewards.h"
#include "train/group_quota.h"
#include "train/prompt_lengths.h"
#include "train/reward_models.h"
#include "train/rollout_record.h"

namespace roll {

struct CollectRequest {
  std::vector<const Row*> rows{};  // all prompts, or else
  GroupQuota* quota = nullptr;     // which gives them
  int64_t num_samples = 1;         // responses per prompt
  bool with_baseline = false;      // and a greedy one more
  int64_t step = 0;
  SamplingParams sampling{};
  std::string phase = "generate";  // of the progress line
  bool may_stop = true;            // a wish to stop ends it
};

/// What sampling needs at most, in training and validation, for `most_requests` at once.
EngineLimits engine_limits(const Config& config, int64_t most_requests);

/// How the configuration samples: training by actor_infer.generating_args, validation by its own.
SamplingParams sampling_params(const Config& config, const Tokenizer& tokenizer, Purpose purpose, int64_t step);

/// What collecting took, and which rewards failed.
struct CollectStatistics {
  double generate_s = 0;                       // while this rank had something to sample
  double wait_s = 0;                           // while only others had
  double rewards_s = 0;                        // for rewards, while nothing was to be sampled
  SamplerCounts counts;                        // of all ranks, most_pages of the one that held most
  std::map<std::string, RewardFaults> faults;  // by domain, of all ranks
  std::map<std::string, int64_t> retries;      // likewise
  std::map<std::string, RewardUse> use;        // likewise

  /// time/step_generate, time/step_generate_wait, time/step_rewards; reward/timeouts,
  /// reward/errors, reward/retries, each also as <domain>/...; <domain>/reward/seconds/{mean,max} (of one response, its
  /// retries included) and <domain>/reward/waiting (the most that waited for a worker at once); and of the sampler
  /// rollout/tokens_per_s, rollout/slots_busy (share of slots, over all steps), rollout/kv_pages_used (the most at
  /// once, as a share), rollout/prefix_hits (share of prompt tokens that others had computed), rollout/evictions.
  void add_to(Metrics& metrics) const;
};

class Collector {
 public:
  /// UserError: a reward that cannot be made.
  Collector(const std::map<std::string, RewardWorkerConfig>& rewards, int64_t response_length, RewardModels& models,
            RoleMesh& ranks, Log& log);

  /// The records of the responses whose scores counted and that this group of ranks sampled, on its leader, group after
  /// group; group_index counts the prompts as they were given. Random numbers are named by prompt and sample, so the
  /// responses do not depend on who samples them beside what. The engine's tensor ranks draw the same tokens in
  /// lock-step. Adds to `statistics`.
  /// **Collective**. Stopped, on all ranks, when one was asked to; UserError as GroupQuota's. Warns once per domain and
  /// step of the rewards that failed on this rank.
  std::vector<RolloutRecord> collect(Engine& engine, const Tokenizer& tokenizer, const CollectRequest& request,
                                     CollectStatistics& statistics);

 private:
  std::vector<RolloutRecord> sample(Engine& engine, const Tokenizer& tokenizer, const CollectRequest& request,
                                    Collection& collection, CollectStatistics& statistics);
  void sample_and_score(Engine& engine, const CollectRequest& request, Collection& collection,
                        const OnGenerated& on_done, CollectStatistics& statistics);
  void tell_lengths(const std::vector<RolloutRecord>& mine, const Collection& collection);
  void warn_of_faults(const std::vector<RolloutRecord>& records, int64_t step);

  RewardModels& models_;
  RoleMesh& ranks_;
  Mesh& mesh_;
  Log& log_;
  std::vector<std::string> domains_;
  DomainRewards rewards_;
  std::map<std::string, int64_t> warned_;  // the last step, by domain
  PromptLengths lengths_;
};

/// What ranks without a sampler do while others collect: the models there judge. **Collective** over the world, of
/// whose other ranks each is in Collector::collect. Stopped as there.
void attend_collection(RewardModels& models, RoleMesh& samplers, int64_t step);

/// All records of the world's ranks, in data order. **Collective**.
std::vector<RolloutRecord> exchange_rollouts(std::vector<RolloutRecord> mine, Communicator& world);

}  // namespace roll
