#include "collect/rollout_manager.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/clock.h"
#include "base/error.h"
#include "collect/rollout_metrics.h"
#include "dist/merged_metrics.h"
#include "dist/messages.h"
#include "records/messages.h"
#include "settings/placement.h"

namespace roll {

RolloutManager::RolloutManager(SamplingPlan plan, Data data, PolicyEngine& engine, RolloutWorker* worker,
                               RewardModels& reward_models, Communicator& world)
    : plan_(std::move(plan)),
      engine_(engine),
      worker_(worker),
      reward_models_(reward_models),
      world_(world),
      prompts_per_step_(data.prompts_per_step),
      validations_(std::move(data.validations)),
      prompts_(std::move(data.prompts)) {
  if (prompts_) prompts_state_ = prompts_->state();
  if (plan_.speculates) guesser_ = std::make_shared<TokenGuesser>();
  if (plan_.steps_ahead > 0) training_ended_ = world.split(all_ranks(world.size()), "training_ended");
}

SamplingParams RolloutManager::params_for(Purpose purpose, int64_t step, const SamplingSettings& generating) const {
  return {.generating = generating,
          .eos_ids = engine_.tokenizer().eos_ids(),
          .seed = plan_.seed,
          .purpose = purpose,
          .step = static_cast<uint32_t>(step),
          .max_running_requests = plan_.max_running_requests,
          .shares_prefill = plan_.shares_prefill,
          .continues_responses = plan_.plays,
          .guesser = guesser_};
}

void RolloutManager::load_prompts_state(const Json& state) {
  if (!prompts_) return;
  prompts_->load_state(state);
  prompts_state_ = state;
}

std::vector<RolloutRecord> RolloutManager::step(int64_t step, Metrics& metrics) {
  Stopwatch watch;
  Metrics sampling_metrics;
  engine_.open();
  sampling_metrics.add("time/step_model_update", watch.seconds());  // includes creating the engine
  world_.traffic().set_phase("generate");
  RoleMesh& samplers = engine_.ranks();
  std::vector<RolloutRecord> records;
  if (samplers.is_here())
    records = sample_step(step, sampling_metrics);
  else
    attend_rollouts(reward_models_, samplers, step);
  metrics.merge(broadcast_metrics(samplers, sampling_metrics));
  prompts_state_ = broadcast_message(StateMessage{prompts_state_}, samplers, "state of the prompt stream").state;
  if (plan_.steps_ahead == 0) close();
  return records;
}

std::vector<RolloutRecord> RolloutManager::sample_step(int64_t step, Metrics& metrics) {
  OpenStep& open_step = find_or_begin(step);
  open_step.quota.limit(1);
  worker_->complete(*open_step.job, *engine_.get(), engine_.tokenizer());
  finish(open_step);
  open_step.job->statistics.add_to(metrics);
  add_group_metrics(open_step.quota.counts(), metrics);
  if (prompts_->wants_pass_rates()) add_passed_over(open_step.passed_over, metrics);
  prompts_state_ = std::move(open_step.prompts_state);
  std::vector<RolloutRecord> records = std::move(*open_step.records);
  open_steps_.erase(step);
  return records;
}

RolloutManager::OpenStep& RolloutManager::find_or_begin(int64_t step) {
  const auto found = open_steps_.find(step);
  if (found != open_steps_.end()) return found->second;
  GroupQuota quota(prompts_->quota(prompts_per_step_, step), *prompts_, plan_.filters, plan_.num_additional_prompts);
  OpenStep& open_step = open_steps_.emplace(step, OpenStep{std::move(quota)}).first->second;
  open_step.job = worker_->begin({.quota = &open_step.quota,
                                  .num_samples = plan_.num_samples,
                                  .with_baseline = plan_.with_baseline,
                                  .step = step,
                                  .version = step - 1,
                                  .response_length = plan_.response_length,
                                  .sequence_length = plan_.sequence_length,
                                  .sampling = params_for(Purpose::kSample, step, plan_.training),
                                  .phase = fmt::format("step {}: generate", step)});
  return open_step;
}

/// Rewinds the stream to right after the step's last prompt, and gives it the mean scores. No later step has begun, so
/// every step knows the scores of all before it.
void RolloutManager::finish(OpenStep& open_step) {
  if (open_step.records) return;
  open_step.records = open_step.quota.take(worker_->finish(*open_step.job));
  open_step.passed_over = prompts_->settle(open_step.quota.mean_scores());
  open_step.prompts_state = prompts_->state();
}

std::vector<RolloutRecord> RolloutManager::validation(int64_t step, const SetPlan& set, int64_t first, int64_t count) {
  engine_.open();
  world_.traffic().set_phase("generate");
  if (!engine_.ranks().is_here()) {
    attend_rollouts(reward_models_, engine_.ranks(), step);
    return {};
  }
  for (auto& [number, open_step] : open_steps_)
    if (!open_step.records) open_step.job->coordinator.park();
  RolloutRequest request{.first_prompt = static_cast<uint64_t>(first),
                         .num_samples = set.num_samples,
                         .step = step,
                         .version = step,
                         .response_length = plan_.val_response_length,
                         .sequence_length = plan_.val_sequence_length,
                         .sampling = params_for(Purpose::kValidate, step, set.sampling),
                         .phase = fmt::format("step {}: validate{}{}", step, set.name.empty() ? "" : " ", set.name),
                         .may_stop = step == 0};  // later, the update is already done, so the step is finished
  for (int64_t row = first; row < first + count; ++row)
    request.rows.push_back(std::make_shared<const Row>(set_rows(set).at(row)));
  const auto job = worker_->begin(std::move(request));
  worker_->complete(*job, *engine_.get(), engine_.tokenizer());
  std::vector<RolloutRecord> records = worker_->finish(*job);
  for (RolloutRecord& record : records) record.group_index += first;
  return records;
}

void RolloutManager::run_ahead(int64_t step) {
  const double ratio = plan_.steps_ahead;
  if (!training_ended_) return;
  world_.traffic().set_phase("generate");
  const auto gathered = std::make_shared<std::vector<std::string>>();
  const auto training_end = training_ended_->start_all_gather_bytes({}, gathered, "end of training");
  const int64_t last = std::min(plan_.last_step, step + static_cast<int64_t>(std::ceil(ratio)));
  for (int64_t next = step + 1; engine_.get() && prompts_ && next <= last; ++next) {
    OpenStep& open_step = find_or_begin(next);
    open_step.quota.limit(ratio - static_cast<double>(next - step - 1));
    worker_->run_ahead(*open_step.job, *engine_.get(), engine_.tokenizer(), step - 1,
                       [&] { return training_end->is_done(); });
    const bool is_complete_step = open_step.quota.is_full() && open_step.job->coordinator.is_complete() &&
                                  reward_models_.empty();  // models judge later
    if (!is_complete_step) break;
    finish(open_step);
  }
  training_end->wait();
  close();
}

}  // namespace roll
