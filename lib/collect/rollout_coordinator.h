// The scheduling of one rollout job over all groups of ranks that sample: which prompts are sampled, by whom, what is
// known of them, and when all that is needed is there, scores included, so that a wish to stop is heard while scores
// are waited for. Every rank
// decides from the same news (news_exchange.h), so all know the same prompts by the same indices; responses and their
// rewards stay where they were sampled until the end. A collection may be paused, and go on with other weights: a
// response that was begun keeps its tokens, and what is known of each is which weights drew it.
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
  struct Plan {
    std::vector<Prompt> prompts{};  // all of them, or else
    GroupQuota* quota = nullptr;    // which says when which ones start
    int64_t num_samples = 1;
    std::optional<SamplingSettings>
        baseline{};        // of one response more to each prompt, the last, on which no filter looks
    bool may_stop = true;  // a wish to stop ends it
    std::function<std::optional<double>(const Prompt&)> expected_length;
  };
  /// How it is served.
  struct Terms {
    Progress* progress = nullptr;
    int64_t version = 0;                   // of the sampler's weights
    std::function<bool()> should_pause{};  // asked on leaders: all groups pause once one says so
  };
  /// All references must outlive it.
  RolloutCoordinator(Mesh& mesh, DomainRewards& rewards, Plan plan);

  /// Before it is served, also again: its requests are numbered anew from first_request(), and those that a pause
  /// left unfinished come again with what they have.
  void begin(Terms terms);
  Change next(const Queue& queue) override;
  /// After the engine has served it; `generations` is what Engine::serve() returned.
  void end(const std::vector<Generation>& generations);
  /// For leaders: the response of one of this group's requests is there.
  void finished(int64_t request, RewardQuery query);

  /// Whether it stopped only because all that is missing are scores of responses that are held (domain_rewards.h).
  bool waits_for_models() const { return waits_for_models_; }
  /// Goes on sampling once those have been released (DomainRewards::release).
  void go_on();
  /// Whether all that may be sampled is there, scores included.
  bool is_complete() const;
  /// Takes all that is in `rewards` out of them, which waits for scores, so that another collection may use them until
  /// this one begins again.
  void park();
  int64_t first_request() const { return first_request_; }

  /// By request, in the order in which this group was given them.
  const SampleIndex& sample(int64_t request) const { return requests_.at(request).sample; }
  uint64_t sequence_id(int64_t request) const { return requests_.at(request).sequence_id; }
  /// Which weights drew its tokens, of which there are so many.
  std::vector<WeightsRun> weights_of(int64_t request, int64_t num_tokens) const;
  const Prompt& prompt(int64_t request) const { return prompts_.at(sample(request).prompt).prompt; }
  /// By index, which is SampleIndex's.
  const Prompt& prompt_at(int64_t index) const { return prompts_.at(index).prompt; }

  /// When it is over: the rewards of this group's responses that are needed, by request; waits for them.
  std::map<int64_t, RewardResult> take_results();
  /// What ended it, if not the last response.
  std::optional<StopKind> stopped() const { return stopped_; }
  /// How long this group had nothing to sample: while scores of its own were missing, and while others worked.
  double waited_for_scores_s() const { return waited_for_scores_s_; }
  double waited_for_others_s() const { return waited_for_others_s_; }

 private:
  struct PromptState {
    Prompt prompt;
    std::vector<std::optional<double>> scores;
    int64_t num_finished = 0;
    int64_t num_held = 0;  // sampled, but not to be scored before a model has seen them
    bool is_needed = true;
  };
  struct Request {
    SampleIndex sample;
    uint64_t sequence_id = 0;
    bool is_given_up = false;           // unneeded or put back
    std::vector<WeightsRun> weights{};  // of the tokens that it began with
  };
  struct Unfinished {
    Request request;
    Generation begun;
  };
  using Finished = FinishedSample;

  void add(const std::vector<Prompt>& prompts);
  void expect(int64_t responses);
  void start(const std::vector<SampleIndex>& samples, Change& change);
  void start_again(Change& change);
  GenerationRequest request_for(const Request& request) const;
  void take_scores(std::map<int64_t, RewardResult> results);
  void look_whether_to_end(Change& change);
  SamplingNews news(const Queue& queue);
  void hear(const std::vector<SamplingNews>& told, const Queue& queue, Change& change);
  bool hear_of(const Finished& finished);
  void give_up_unneeded(Change& change);
  void put_back(int64_t count, const Queue& queue, Change& change);
  bool only_models_are_missing() const;
  void cancel(int64_t request, Change& change) const;

  Mesh& mesh_;
  DomainRewards& rewards_;
  Plan plan_;
  Terms terms_;
  int64_t num_samples_;  // baseline included
  NewsExchange news_exchange_;
  SampleScheduler scheduler_;
  std::vector<PromptState> prompts_;
  std::vector<Request> requests_;            // of this group
  std::vector<Unfinished> unfinished_;       // of those, as the last pause left them
  std::set<int64_t> awaited_;                // requests whose scores are missing
  std::map<int64_t, RewardResult> results_;  // by request
  std::vector<Finished> new_finished_;
  std::vector<SampleIndex> new_held_;
  std::vector<SampleIndex> new_put_back_;
  std::vector<int64_t> queues_;         // of all groups, as they last said
  std::optional<int64_t> told_length_;  // of this group's
  int64_t first_request_ = 0;
  int64_t num_expected_ = 0, num_finished_ = 0;  // responses, of all groups
  bool has_begun_ = false, waits_for_models_ = false;
  std::map<std::string, std::map<int64_t, RewardQuery>> parked_;
  std::optional<StopKind> wish_;  // to stop, of a rank of this group
  std::optional<StopKind> stopped_;
  double waited_for_scores_s_ = 0, waited_for_others_s_ = 0;
};

}  // namespace roll
