#include "collect/rollout_coordinator.h"

#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"

namespace roll {

namespace {

constexpr useconds_t kScoreWait_us = 1000;
// First sequence id of the baselines, so that other ids do not depend on them.
constexpr uint64_t kBaselines = uint64_t{1} << 47;

int64_t queue_length(const RequestSource::Queue& queue) {
  return queue.waiting.empty() ? -queue.num_free_slots : std::ssize(queue.waiting);
}

}  // namespace

RolloutCoordinator::RolloutCoordinator(Mesh& mesh, DomainRewards& rewards, Plan plan)
    : mesh_(mesh),
      rewards_(rewards),
      plan_(std::move(plan)),
      num_samples_(plan_.num_samples + (plan_.baseline ? 1 : 0)),
      news_exchange_(mesh),
      scheduler_(mesh.dp_size(), num_samples_),
      queues_(mesh.dp_size()) {
  add(plan_.prompts);
}

void RolloutCoordinator::begin(Terms terms) {
  terms_ = std::move(terms);
  has_begun_ = false;
  first_request_ = std::ssize(requests_);
  for (auto& [domain, queries] : std::exchange(parked_, {})) rewards_.held()[domain].merge(queries);
  if (terms_.progress) terms_.progress->expect(num_expected_), terms_.progress->advance(num_finished_);
  if (plan_.quota) add(plan_.quota->next());
}

void RolloutCoordinator::end(const std::vector<Generation>& generations) {
  for (int64_t i = 0; i < std::ssize(generations); ++i) {
    const int64_t index = first_request_ + i;
    const Request& request = requests_.at(index);
    if (request.is_given_up || generations[i].finish_reason != FinishReason::kAbort) continue;
    unfinished_.push_back({request, generations[i]});
    unfinished_.back().request.weights = weight_runs(index, std::ssize(generations[i].ids));
  }
}

std::vector<WeightsRun> RolloutCoordinator::weight_runs(int64_t request, int64_t num_tokens) const {
  std::vector<WeightsRun> weights;
  for (WeightsRun run : requests_.at(request).weights) {
    run.num_tokens = std::min(run.num_tokens, num_tokens);  // an agent may have gone back to an earlier turn
    if (run.num_tokens > 0) weights.push_back(run);
    num_tokens -= run.num_tokens;
  }
  if (num_tokens > 0) weights.push_back({.version = terms_.version, .num_tokens = num_tokens});
  return weights;
}

void RolloutCoordinator::add(const std::vector<Prompt>& prompts) {
  for (const Prompt& prompt : prompts) {
    scheduler_.add(std::ssize(prompts_), plan_.expected_length(prompt), prompt.is_ahead);
    prompts_.push_back({.prompt = prompt, .scores = std::vector<std::optional<double>>(num_samples_)});
  }
  expect(std::ssize(prompts) * num_samples_);
}

void RolloutCoordinator::expect(int64_t responses) {
  num_expected_ += responses;
  if (terms_.progress) terms_.progress->expect(responses);
}

/// One step of this group: posts its news once the last exchange is complete, and acts on the news of all groups.
RequestSource::Change RolloutCoordinator::next(const Queue& queue) {
  Change change;
  if (!has_begun_) {
    has_begun_ = true;
    resume_unfinished(change);
    start(scheduler_.assign(queues_)[mesh_.place().dp], change);
    check_end(change);
    return change;
  }
  const Stopwatch watch;
  const bool awaits_scores = !awaited_.empty();
  if (mesh_.is_leader() && !news_exchange_.is_posted()) {
    if (queue.is_idle() && awaits_scores) ::usleep(kScoreWait_us);
    take_scores(rewards_.take_done());
    news_exchange_.post(news(queue));
  }
  const auto [reports, wish] = news_exchange_.receive(queue.is_idle(), requested_stop());
  wish_ = std::max(wish_, wish);
  if (!reports.empty()) apply_news(reports, queue, change);
  if (queue.is_idle()) (awaits_scores ? waited_for_scores_s_ : waited_for_others_s_) += watch.seconds();
  return change;
}

void RolloutCoordinator::start(const std::vector<SampleIndex>& samples, Change& change) {
  for (const SampleIndex& sample : samples) {
    const uint64_t number = prompts_[sample.prompt].prompt.number;
    const bool is_baseline = sample.number >= plan_.num_samples;
    const auto first_sequence_id = number * static_cast<uint64_t>(plan_.num_samples);
    requests_.push_back(
        {.sample = sample,
         .sequence_id = is_baseline ? kBaselines + number : first_sequence_id + static_cast<uint64_t>(sample.number)});
    change.requests.push_back(request_for(requests_.back()));
  }
}

void RolloutCoordinator::resume_unfinished(Change& change) {
  for (auto& [request, begun] : std::exchange(unfinished_, {})) {
    change.requests.push_back(request_for(request));
    change.requests.back().begun = std::move(begun);
    requests_.push_back(std::move(request));
  }
}

GenerationRequest RolloutCoordinator::request_for(const Request& request) const {
  GenerationRequest generation_request{.prompt_ids = prompts_[request.sample.prompt].prompt.row->prompt_ids,
                                       .sequence_id = request.sequence_id};
  if (request.sample.number >= plan_.num_samples) generation_request.generating = plan_.baseline;
  return generation_request;
}

void RolloutCoordinator::finished(int64_t request, RewardQuery query) {
  rewards_.submit(prompt(request).row->domain, request, std::move(query));
  const bool is_held = rewards_.holds(prompt(request).row->domain);
  if (is_held && !prompt(request).awaits_scores) {
    new_finished_.push_back({.sample = sample(request)});
    return;
  }
  awaited_.insert(request);
  if (is_held) new_held_.push_back(sample(request));
}

void RolloutCoordinator::take_scores(std::map<int64_t, RewardResult> results) {
  for (auto& [request, result] : results) {
    if (awaited_.erase(request) > 0)
      new_finished_.push_back({.sample = sample(request),
                               .score = result.is_judged ? std::optional(as_written(result.score)) : std::nullopt});
    results_[request] = std::move(result);
  }
}

SamplingNews RolloutCoordinator::news(const Queue& queue) {
  const bool pauses = terms_.should_pause && terms_.should_pause();
  const int64_t length = queue_length(queue);
  const auto stop = plan_.may_stop ? std::max(wish_, requested_stop()) : std::nullopt;
  if (new_finished_.empty() && new_held_.empty() && new_put_back_.empty() && length == reported_length_ && !stop &&
      !pauses)
    return {};
  reported_length_ = length;
  SamplingChanges changes{.finished = std::exchange(new_finished_, {}),
                          .held = {},
                          .put_back = std::exchange(new_put_back_, {}),
                          .queue = length,
                          .stop = stop,
                          .pauses = pauses};
  for (const SampleIndex& sample : std::exchange(new_held_, {})) changes.held.push_back(sample.prompt);
  return {.changes = std::move(changes)};
}

void RolloutCoordinator::apply_news(const std::vector<SamplingNews>& reports, const Queue& queue, Change& change) {
  std::optional<StopKind> stop;
  bool is_quota_changed = false;
  for (size_t group = 0; group < reports.size(); ++group) {
    if (!reports[group].changes) continue;
    const SamplingChanges& news = *reports[group].changes;
    for (const Finished& finished : news.finished) is_quota_changed |= record_finished(finished);
    for (const int64_t prompt : news.held) ++prompts_.at(prompt).num_held;
    for (const SampleIndex& sample : news.put_back)
      if (prompts_.at(sample.prompt).is_needed) scheduler_.put_back(sample);
    queues_[group] = news.queue;
    stop = std::max(stop, news.stop);
    change.pauses |= news.pauses;
  }
  if (is_quota_changed) {
    add(plan_.quota->next());
    give_up_unneeded(change);
  }
  if (stop) stopped_ = stop;
  check_end(change);
  if (stopped_)
    for (int64_t request = 0; request < std::ssize(requests_); ++request) cancel(request, change);
  if (change.is_last || change.pauses) return;
  const auto own_group = mesh_.place().dp;
  std::vector<int64_t> queues = queues_;
  const SampleAssignment assignment = scheduler_.assign(queues);
  put_back(num_to_put_back(queues, own_group), queue, change);
  start(assignment[own_group], change);
}

void RolloutCoordinator::check_end(Change& change) {
  waits_for_models_ = !stopped_ && !is_complete() && only_models_are_missing();
  change.is_last = stopped_ || is_complete() || waits_for_models_;
}

/// Returns true if the response completes a group that awaited its scores.
bool RolloutCoordinator::record_finished(const Finished& finished) {
  const auto& [sample, score] = finished;
  PromptState& state = prompts_.at(sample.prompt);
  if (!state.is_needed) return false;
  state.scores.at(sample.number) = score;
  ++num_finished_;
  if (terms_.progress) terms_.progress->advance();
  if (++state.num_finished < num_samples_ || !state.prompt.awaits_scores) return false;
  plan_.quota->add(sample.prompt, GroupScores(state.scores).first(plan_.num_samples));
  return true;
}

void RolloutCoordinator::give_up_unneeded(Change& change) {
  for (int64_t index = 0; index < std::ssize(prompts_); ++index) {
    PromptState& state = prompts_[index];
    if (!state.is_needed || plan_.quota->needs(index)) continue;
    state.is_needed = false;
    scheduler_.drop(index);
    expect(state.num_finished - num_samples_);
    for (int64_t request = 0; request < std::ssize(requests_); ++request) {
      if (sample(request).prompt != index || requests_[request].is_given_up) continue;
      requests_[request].is_given_up = true;
      cancel(request, change);
      rewards_.drop(state.prompt.row->domain, request);
      awaited_.erase(request), results_.erase(request);
    }
  }
}

/// Puts back `count` waiting samples, the last to start first.
void RolloutCoordinator::put_back(int64_t count, const Queue& queue, Change& change) {
  for (auto waiting = queue.waiting.rbegin(); waiting != queue.waiting.rend() && count > 0; ++waiting) {
    const int64_t request = first_request_ + *waiting;
    if (requests_[request].is_given_up) continue;
    requests_[request].is_given_up = true;
    cancel(request, change);
    new_put_back_.push_back(sample(request));
    --count;
  }
}

bool RolloutCoordinator::is_complete() const {
  return (!plan_.quota || plan_.quota->has_all_allowed()) &&
         std::ranges::all_of(prompts_, [&](const PromptState& state) {
           return !state.is_needed || state.num_finished == num_samples_;
         });
}

bool RolloutCoordinator::only_models_are_missing() const {
  return std::ranges::all_of(prompts_, [&](const PromptState& state) {
    return !state.is_needed || state.num_finished == num_samples_ || state.num_held == num_samples_;
  });
}

void RolloutCoordinator::resume() {
  for (PromptState& state : prompts_) state.num_held = 0;
  waits_for_models_ = false;
}

void RolloutCoordinator::park() {
  take_scores(rewards_.take_all());
  parked_ = std::exchange(rewards_.held(), {});
}

/// Cancels a request, unless an earlier engine run had it: those have ended.
void RolloutCoordinator::cancel(int64_t request, Change& change) const {
  if (request >= first_request_) change.cancelled.push_back(request - first_request_);
}

std::map<int64_t, RewardResult> RolloutCoordinator::take_results() {
  for (auto& [request, result] : rewards_.take_all()) results_[request] = std::move(result);
  return std::move(results_);
}

}  // namespace roll
