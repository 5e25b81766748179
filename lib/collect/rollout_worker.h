// Turns prompts into scored responses, for RolloutManager: the rank groups that hold the sampler's weights share the
// samples while they run (rollout_coordinator.h). Rewards start as each response ends. Records stay where they were
// sampled.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "collect/domain_rewards.h"
#include "collect/group_quota.h"
#include "collect/prompt_lengths.h"
#include "collect/reward_models.h"
#include "collect/rollout_coordinator.h"
#include "collect/rollout_statistics.h"
#include "collect/turn_source.h"
#include "data/rows.h"
#include "dist/mesh.h"
#include "records/rollout_record.h"
#include "rollout/engine.h"
#include "text/tokenizer.h"
#include "track/metrics.h"

namespace roll {

struct RolloutRequest {
  std::vector<std::shared_ptr<const Row>> rows{};  // all prompts, if there is no quota
  uint64_t first_prompt = 0;                       // random-number key of the first prompt
  GroupQuota* quota = nullptr;                     // supplies the prompts
  int64_t num_samples = 1;                         // responses per prompt
  bool with_baseline = false;                      // adds one greedy response per prompt
  int64_t step = 0;
  int64_t version = 0;          // weights meant to sample it
  int64_t response_length = 0;  // tokens of a trajectory, all turns together
  int64_t sequence_length = 0;  // trajectories: tokens of a prompt and its turn, if each turn has its own context
  SamplingParams sampling{};
  std::string phase = "generate";  // label of the progress line
  bool may_stop = true;            // a stop request ends the job
};

/// A rollout in progress; it may be paused and resumed.
struct RolloutJob {
  RolloutJob(RolloutRequest request_, Mesh& mesh, DomainRewards& rewards, RolloutCoordinator::Plan plan)
      : request(std::move(request_)), coordinator(mesh, rewards, std::move(plan)) {}
  RolloutRequest request;
  RolloutCoordinator coordinator;
  RolloutStatistics statistics;
  std::map<int64_t, RolloutRecord> records;  // by request; on leaders
  Trajectories trajectories;                 // unfinished ones
};

/// Environments, by the domains whose rows are played in them.
struct Games {
  EnvironmentsByTag environments{};
  std::optional<TurnTokens> tokens{};  // set if there are environments
  std::optional<ChatTemplate> chat_template{};
  int64_t prompt_length = 0;  // limit for an agent's first request, tokens
};

class RolloutWorker {
 public:
  /// `tokenizer`: needed for environments; must outlive the worker. UserError: a reward or an environment cannot be
  /// created.
  RolloutWorker(const RewardsByDomain& rewards, int64_t response_length, RewardModels& models, RoleMesh& ranks,
                Log& log, Games games = {}, const Tokenizer* tokenizer = nullptr);

  /// Creates a job. Random numbers are keyed by prompt and sample, so responses depend neither on the rank nor on the
  /// batch.
  std::unique_ptr<RolloutJob> begin(RolloutRequest request);
  /// Samples with weights `version` until everything that the quota allows is there, models have to score, or
  /// `should_pause` returns true on a leader. Keeps unfinished responses. Tensor-parallel ranks draw the same tokens in
  /// lock-step. **Collective** over the sampler's ranks. UserError: see GroupQuota::add().
  void run_ahead(RolloutJob& job, Engine& engine, const Tokenizer& tokenizer, int64_t version,
                 const std::function<bool()>& should_pause);
  /// Samples with the weights meant for the job until it is complete. **Collective** over the world; ranks without a
  /// sampler call attend_rollouts(). Throws Stopped on all ranks if a stop was requested.
  void complete(RolloutJob& job, Engine& engine, const Tokenizer& tokenizer);
  /// Ends a complete job; call it once. Returns, on each group's leader, the records that the group sampled and whose
  /// scores counted, group by group; group_index counts prompts in their given order. Warns once per domain and step
  /// about failed rewards on this rank, and once per domain if most rewards timed out. **Collective** over the
  /// sampler's ranks. UserError: a domain's environment failed in all trajectories.
  std::vector<RolloutRecord> finish(RolloutJob& job);

 private:
  void serve(RolloutJob& job, Engine& engine, const Tokenizer& tokenizer, int64_t version,
             const std::function<bool()>& should_pause);
  std::vector<Generation> sample(RolloutJob& job, Engine& engine, const Tokenizer& tokenizer, SamplerCounts& counts,
                                 const TurnSource::OnOver& on_over);
  bool has_agents() const;
  std::unique_ptr<EnvironmentPool> make_pool(const Tokenizer& tokenizer, int64_t response_length);
  EnvironmentPool& pool_for(const RolloutRequest& request, const Tokenizer& tokenizer);
  void all_gather_lengths(const std::vector<RolloutRecord>& local, const RolloutCoordinator& coordinator);
  void warn_of_faults(const std::vector<RolloutRecord>& records, int64_t step);

  RewardModels& models_;
  RoleMesh& ranks_;
  Mesh& mesh_;
  Log& log_;
  std::vector<std::string> domains_;
  std::set<std::string> played_;  // domains in which a trajectory has ended without failure
  DomainRewards rewards_;
  std::map<std::string, int64_t> warned_;  // last step with a warning, by domain
  std::set<std::string> advised_;          // domains warned of time-outs
  PromptLengths lengths_;
  Games games_;
  std::unique_ptr<EnvironmentPool> pool_, validation_pool_;  // set if there are environments
};

/// Runs the judging models on ranks without a sampler, while the others are in RolloutWorker::complete().
/// **Collective** over the world. Throws Stopped on all ranks if a stop was requested.
void attend_rollouts(RewardModels& models, RoleMesh& samplers, int64_t step);

/// Returns the records of all ranks, in data order. **Collective**.
std::vector<RolloutRecord> exchange_rollouts(std::vector<RolloutRecord> local, Communicator& world);

}  // namespace roll
