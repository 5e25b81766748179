// Schedules one rollout job (the responses of a step or a validation), for RolloutWorker: decides which prompts are
// sampled, by which group, and when the job is complete, scores included. A group is the set of tensor-parallel ranks
// that hold one copy of the sampler's model; its first rank is the leader. All ranks decide from the same news
// (news_exchange.h), so prompts have the same indices everywhere. Responses and their rewards stay where they were
// sampled. A job may be paused and resumed with other weights: unfinished responses keep their tokens, and the versions
// of the weights that drew them are recorded.
//
// A request is a response that this group samples. Requests are numbered from 0 over the whole job, in the order in
// which the group starts them. A job consists of one or more engine runs: begin(), Engine::serve() with this object as
// the source, end().
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "collect/domain_rewards.h"
#include "collect/group_quota.h"
#include "collect/news_exchange.h"
#include "collect/sample_scheduler.h"
#include "process/stop.h"
#include "rollout/sampler.h"
#include "track/progress.h"

namespace roll {

class RolloutCoordinator : public RequestSource {
 public:
  /// Description of a job; the same on all ranks.
  struct Plan {
    std::vector<Prompt> prompts{};  // all prompts; empty with a quota
    GroupQuota* quota = nullptr;    // decides which prompts start when; null: `prompts` start at once
    int64_t num_samples = 1;        // responses per prompt to train on
    /// Settings of the baseline: one more response per prompt, its last one, whose reward is subtracted from those of
    /// the others. Filters ignore it. Unset: no such response.
    std::optional<SamplingSettings> baseline{};
    bool may_stop = true;  // a stop request of the user ends the job
    /// Returns the expected tokens of a response, or nullopt if unknown. Prompts with long responses start first. Must
    /// be set.
    std::function<std::optional<double>(const Prompt&)> expected_length;
  };
  /// Settings of one engine run.
  struct Terms {
    Progress* progress = nullptr;          // counts finished responses of all groups; null: none
    int64_t version = 0;                   // version of the sampler's weights: number of training steps done
    std::function<bool()> should_pause{};  // called on leaders; all groups pause once one returns true; empty: never
  };
  /// `mesh`: of the sampler. `mesh`, `rewards` and the plan's quota must outlive the coordinator.
  RolloutCoordinator(Mesh& mesh, DomainRewards& rewards, Plan plan);

  /// Prepares an engine run, the first or a later one. The engine's request i is request first_request() + i of the
  /// job. Responses that a pause left unfinished come again, as new requests that start with their tokens.
  void begin(Terms terms);
  /// Called by the engine before each step. **Collective** over the group.
  Change next(const Queue& queue) override;
  /// Stores the unfinished responses of an engine run. `generations`: result of Engine::serve().
  void end(const std::vector<Generation>& generations);
  /// Submits the finished response of a request for scoring, or holds it back (domain_rewards.h). Leaders only.
  void finished(int64_t request, RewardQuery query);

  /// Returns true if the last engine run ended because the only missing scores are those of held responses. The caller
  /// then releases these (DomainRewards::release()), calls resume() and starts another engine run.
  bool waits_for_models() const { return waits_for_models_; }
  /// Continues the job after held responses have been released.
  void resume();
  /// Returns true if all responses that the quota allows are sampled, with all scores that it needs.
  bool is_complete() const;
  /// Waits for the scores of submitted responses and takes everything out of `rewards`, so that another job may use it
  /// until begin() is called again.
  void park();
  /// Returns the number of the current engine run's first request.
  int64_t first_request() const { return first_request_; }

  /// Returns the prompt and response number of a request.
  const SampleIndex& sample(int64_t request) const { return requests_.at(request).sample; }
  /// Returns the key of the request's random numbers.
  uint64_t sequence_id(int64_t request) const { return requests_.at(request).sequence_id; }
  /// Returns the weight versions that drew the first `num_tokens` response tokens of a request, as consecutive spans.
  std::vector<WeightsRun> weight_runs(int64_t request, int64_t num_tokens) const;
  /// Returns the prompt of a request.
  const Prompt& prompt(int64_t request) const { return prompts_.at(sample(request).prompt).prompt; }
  /// Returns a prompt by index (SampleIndex::prompt).
  const Prompt& prompt_at(int64_t index) const { return prompts_.at(index).prompt; }

  /// Ends the job; call it once. Waits for the rewards of this group's needed responses and returns them by request.
  std::map<int64_t, RewardResult> take_results();
  /// Returns the stop request that ended the job, if any.
  std::optional<StopKind> stopped() const { return stopped_; }
  /// Returns the seconds in which this group had nothing to sample while scores of responses of this group were
  /// missing.
  double waited_for_scores_s() const { return waited_for_scores_s_; }
  /// Returns the seconds in which this group had nothing to sample and only waited for other groups.
  double waited_for_others_s() const { return waited_for_others_s_; }

 private:
  struct PromptState {
    Prompt prompt;
    std::vector<std::optional<double>> scores;
    int64_t num_finished = 0;
    int64_t num_held = 0;  // sampled responses that wait for a judging model
    bool is_needed = true;
  };
  struct Request {
    SampleIndex sample;
    uint64_t sequence_id = 0;
    bool is_given_up = false;           // not needed, or put back
    std::vector<WeightsRun> weights{};  // versions that drew the tokens from before a pause
  };
  struct Unfinished {
    Request request;
    Generation begun;
  };
  using Finished = FinishedSample;

  void add(const std::vector<Prompt>& prompts);
  void expect(int64_t responses);
  void start(const std::vector<SampleIndex>& samples, Change& change);
  void resume_unfinished(Change& change);
  GenerationRequest request_for(const Request& request) const;
  void take_scores(std::map<int64_t, RewardResult> results);
  void check_end(Change& change);
  SamplingNews news(const Queue& queue);
  void apply_news(const std::vector<SamplingNews>& reports, const Queue& queue, Change& change);
  bool record_finished(const Finished& finished);
  void give_up_unneeded(Change& change);
  void put_back(int64_t count, const Queue& queue, Change& change);
  bool only_models_are_missing() const;
  void cancel(int64_t request, Change& change) const;

  Mesh& mesh_;
  DomainRewards& rewards_;
  Plan plan_;
  Terms terms_;
  int64_t num_samples_;  // per prompt, baseline included
  NewsExchange news_exchange_;
  SampleScheduler scheduler_;
  std::vector<PromptState> prompts_;
  std::vector<Request> requests_;            // requests of this group, by number
  std::vector<Unfinished> unfinished_;       // requests that the last pause left unfinished
  std::set<int64_t> awaited_;                // requests whose scores are missing
  std::map<int64_t, RewardResult> results_;  // by request
  std::vector<Finished> new_finished_;
  std::vector<SampleIndex> new_held_;
  std::vector<SampleIndex> new_put_back_;
  std::vector<int64_t> queues_;             // last reported queue length, by group
  std::optional<int64_t> reported_length_;  // queue length last reported by this group
  int64_t first_request_ = 0;
  int64_t num_expected_ = 0, num_finished_ = 0;  // responses of all groups
  bool has_begun_ = false, waits_for_models_ = false;
  std::map<std::string, HeldQueries> parked_;
  std::optional<StopKind> wish_;  // stop request of a rank of this group
  std::optional<StopKind> stopped_;
  double waited_for_scores_s_ = 0, waited_for_others_s_ = 0;
};

}  // namespace roll
