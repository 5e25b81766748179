// Turns prompts into scored responses, for RolloutManager. It exists on the sampler's ranks. A group is the set of
// tensor-parallel ranks that hold one copy of the sampler's model; its first rank is the leader. The groups divide the
// responses among themselves during sampling (rollout_coordinator.h). A response is scored as soon as it ends. Records
// stay on the leader of the group that sampled them.
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

/// Description of a job: the responses of a training step or of a validation. The same on all of the sampler's ranks.
struct RolloutRequest {
  std::vector<std::shared_ptr<const Row>> rows{};  // all prompts; empty with a quota
  uint64_t first_prompt = 0;                       // random-number key of rows[0]; later rows count up
  GroupQuota* quota = nullptr;                     // supplies the prompts; null: `rows` does. Must outlive the job
  int64_t num_samples = 1;                         // responses per prompt to train on
  bool with_baseline = false;                      // adds one greedy response per prompt (RolloutRecord::is_baseline)
  int64_t step = 0;             // the training step, from 1; of a validation: number of training steps done
  int64_t version = 0;          // weights meant to draw the responses: after this number of training steps
  int64_t response_length = 0;  // most tokens of a trajectory after its prompt, all turns together
  int64_t sequence_length = 0;  // most tokens of a turn and its prompt, if turns have contexts (turn_source.h)
  SamplingParams sampling{};
  std::string phase = "generate";  // label of the progress line
  bool may_stop = true;            // a stop request of the user ends the job
};

/// A job in progress, created by RolloutWorker::begin(); it may be paused and resumed.
struct RolloutJob {
  RolloutJob(RolloutRequest request_, Mesh& mesh, DomainRewards& rewards, RolloutCoordinator::Plan plan)
      : request(std::move(request_)), coordinator(mesh, rewards, std::move(plan)) {}
  RolloutRequest request;
  RolloutCoordinator coordinator;
  RolloutStatistics statistics;
  std::map<int64_t, RolloutRecord> records;  // finished responses on leaders, by the coordinator's request number
  Trajectories trajectories;                 // unfinished multi-turn responses
};

/// The environments of a run, and the objects that convert their messages to tokens.
struct Games {
  EnvironmentsByTag environments{};             // by domain of the data rows; may be empty
  std::optional<TurnTokens> tokens{};           // set if there are environments
  std::optional<ChatTemplate> chat_template{};  // set if there are environments
  int64_t prompt_length = 0;                    // most tokens of an agent's first request
};

class RolloutWorker {
 public:
  /// `response_length`: longest response in tokens. `ranks`: the sampler's. `tokenizer`: may be null if there are no
  /// environments. `models`, `ranks`, `log` and `tokenizer` must outlive the worker. Throws UserError if a reward or an
  /// environment cannot be created.
  RolloutWorker(const RewardsByDomain& rewards, int64_t response_length, RewardModels& models, RoleMesh& ranks,
                Log& log, Games games = {}, const Tokenizer* tokenizer = nullptr);

  /// Creates a job; nothing is sampled yet. Random numbers are keyed by prompt and response number, so a response
  /// depends neither on the rank that samples it nor on the others in its batch.
  std::unique_ptr<RolloutJob> begin(RolloutRequest request);
  /// Samples until all responses that the quota allows are finished, only scores of held responses are missing
  /// (domain_rewards.h), or `should_pause` returns true on a leader. Unfinished responses stay in the job, which a
  /// later call continues. `version`: of the weights in `engine`. Throws UserError as GroupQuota::add() does.
  /// **Collective** over the sampler's ranks.
  void run_ahead(RolloutJob& job, Engine& engine, const Tokenizer& tokenizer, int64_t version,
                 const std::function<bool()>& should_pause);
  /// Samples until the job is complete, scores included; `engine` must hold the weights meant for it. Throws Stopped on
  /// all ranks if a stop was requested, and UserError as GroupQuota::add() does. **Collective** over the world: ranks
  /// without a sampler call attend_rollouts() meanwhile.
  void complete(RolloutJob& job, Engine& engine, const Tokenizer& tokenizer);
  /// Ends a complete job; call it once. Returns, on each leader, the needed responses that its group sampled, sorted by
  /// group_index (the prompt's index in the job) and sample_index; empty on other ranks. Logs failed rewards of this
  /// rank, once per domain and step, and once per domain if most timed out. Throws UserError if a domain's environment
  /// failed in all trajectories of a training step and never worked before. **Collective** over the sampler's ranks.
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

/// Takes part in RolloutWorker::complete() on ranks without a sampler, and runs the judging models there. `samplers`:
/// the sampler's ranks. `step`: RolloutRequest::step of the job. Throws Stopped on all ranks if a stop was requested.
/// **Collective** over the world.
void attend_rollouts(RewardModels& models, RoleMesh& samplers, int64_t step);

/// All-gathers records: returns those of all ranks, sorted by group_index, then sample_index. `local`: this rank's.
/// **Collective** over `world`.
std::vector<RolloutRecord> exchange_rollouts(std::vector<RolloutRecord> local, Communicator& world);

}  // namespace roll
