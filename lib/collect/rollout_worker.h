// Prompts -> scored responses: the groups of ranks that share the sampler's weights share the samples out among them
// while they run (rollout_coordinator.h), rewards start as each response ends; what was sampled stays where it was.
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
  std::vector<std::shared_ptr<const Row>> rows{};  // all prompts, or else
  uint64_t first_prompt = 0;                       // which names the first of them
  GroupQuota* quota = nullptr;                     // which gives them
  int64_t num_samples = 1;                         // responses per prompt
  bool with_baseline = false;                      // and a greedy one more
  int64_t step = 0;
  int64_t version = 0;          // of the weights that are meant to sample it
  int64_t response_length = 0;  // tokens of a response in an environment, all turns together
  int64_t sequence_length = 0;  // there, of a turn with a context of its own and its prompt
  SamplingParams sampling{};
  std::string phase = "generate";  // of the progress line
  bool may_stop = true;            // a wish to stop ends it
};

/// Sampling under way: it may be paused and taken up again.
struct RolloutJob {
  RolloutJob(RolloutRequest request_, Mesh& mesh, DomainRewards& rewards, RolloutCoordinator::Plan plan)
      : request(std::move(request_)), coordinator(mesh, rewards, std::move(plan)) {}
  RolloutRequest request;
  RolloutCoordinator coordinator;
  RolloutStatistics statistics;
  std::map<int64_t, RolloutRecord> records;  // by request; on leaders
  Trajectories trajectories;                 // that are under way
};

/// What rows are played in whose domain is one of these.
struct Games {
  EnvironmentsByTag environments{};
  std::optional<TurnTokens> tokens{};  // where there are some
  std::optional<ChatTemplate> chat_template{};
  int64_t prompt_length = 0;  // of what agents begin with
};

class RolloutWorker {
 public:
  /// `tokenizer`, for environments, must outlive it. UserError: a reward or an environment that cannot be made.
  RolloutWorker(const RewardsByDomain& rewards, int64_t response_length, RewardModels& models, RoleMesh& ranks,
                Log& log, Games games = {}, const Tokenizer* tokenizer = nullptr);

  /// Random numbers are named by prompt and sample, so the responses do not depend on who samples them beside what.
  std::unique_ptr<RolloutJob> begin(RolloutRequest request);
  /// Samples on, with weights of this version, until all that the quota allows is there, models have to score, or a
  /// leader finds that it should pause. What was begun is kept. The engine's tensor ranks draw the same tokens in
  /// lock-step. **Collective** over the sampler's ranks. UserError as GroupQuota's.
  void run_ahead(RolloutJob& job, Engine& engine, const Tokenizer& tokenizer, int64_t version,
                 const std::function<bool()>& should_pause);
  /// Samples on until the job is complete, with the weights that are meant to sample it. **Collective** over the world,
  /// whose other ranks are in attend_rollouts(). Stopped, on all ranks, when one was asked to.
  void complete(RolloutJob& job, Engine& engine, const Tokenizer& tokenizer);
  /// Once, when all is there: the records of the responses whose scores counted and that this group of ranks sampled,
  /// on its leader, group after group; group_index counts the prompts as they were given. **Collective** over the
  /// sampler's ranks. Warns once per domain and step of the rewards that failed on this rank, and once per domain what
  /// to do when most timed out.
  std::vector<RolloutRecord> finish(RolloutJob& job);

 private:
  void serve(RolloutJob& job, Engine& engine, const Tokenizer& tokenizer, int64_t version,
             const std::function<bool()>& should_pause);
  std::vector<Generation> sample(RolloutJob& job, Engine& engine, const Tokenizer& tokenizer, SamplerCounts& counts,
                                 const TurnSource::OnOver& on_over);
  bool has_agents() const;
  std::unique_ptr<EnvironmentPool> make_pool(const Tokenizer& tokenizer, int64_t response_length);
  EnvironmentPool& pool_for(const RolloutRequest& request, const Tokenizer& tokenizer);
  void all_gather_lengths(const std::vector<RolloutRecord>& mine, const RolloutCoordinator& collection);
  void warn_of_faults(const std::vector<RolloutRecord>& records, int64_t step);

  RewardModels& models_;
  RoleMesh& ranks_;
  Mesh& mesh_;
  Log& log_;
  std::vector<std::string> domains_;
  std::set<std::string> played_;  // of those, the ones of which a trajectory has come to its end
  DomainRewards rewards_;
  std::map<std::string, int64_t> warned_;  // the last step, by domain
  std::set<std::string> advised_;          // domains of whose time-outs was said what to do
  PromptLengths lengths_;
  Games games_;
  std::unique_ptr<EnvironmentPool> pool_, validation_pool_;  // where there are some
};

/// What ranks without a sampler do while others collect: the models there judge. **Collective** over the world, of
/// whose other ranks each is in RolloutWorker::complete. Stopped as there.
void attend_rollouts(RewardModels& models, RoleMesh& samplers, int64_t step);

/// All records of the world's ranks, in data order. **Collective**.
std::vector<RolloutRecord> exchange_rollouts(std::vector<RolloutRecord> mine, Communicator& world);

}  // namespace roll
