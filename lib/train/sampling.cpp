#include "train/sampling.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/clock.h"
#include "base/error.h"
#include "dist/merged_metrics.h"
#include "dist/messages.h"
#include "settings/placement.h"
#include "train/messages.h"
#include "train/rollout_metrics.h"

namespace roll {

Sampling::Sampling(SamplingPlan plan, Data data, PolicyEngine& engine, Collector* collector,
                   RewardModels& reward_models, Communicator& world)
    : plan_(std::move(plan)),
      engine_(engine),
      collector_(collector),
      reward_models_(reward_models),
      world_(world),
      quota_(std::move(data.quota)),
      validation_rows_(std::move(data.validation)),
      prompts_(std::move(data.prompts)) {
  if (prompts_) prompts_state_ = prompts_->state();
  if (plan_.steps_ahead > 0) bell_ = world.split(all_ranks(world.size()), "bell");
}

SamplingParams Sampling::params_for(Purpose purpose, int64_t step) const {
  return {.generating = purpose == Purpose::kValidate ? plan_.validation : plan_.training,
          .eos_ids = engine_.tokenizer().eos_ids(),
          .seed = plan_.seed,
          .purpose = purpose,
          .step = static_cast<uint32_t>(step),
          .max_running_requests = plan_.max_running_requests,
          .shares_prefill = plan_.shares_prefill};
}

void Sampling::load_prompts_state(const Json& state) {
  if (!prompts_) return;
  prompts_->load_state(state);
  prompts_state_ = state;
}

std::vector<RolloutRecord> Sampling::step(int64_t step, Metrics& metrics) {
  Stopwatch watch;
  Metrics of_sampling;
  engine_.open();
  of_sampling.add("time/step_model_update", watch.seconds());  // with the engine's making, where it is made
  world_.traffic().set_phase("generate");
  RoleMesh& samplers = engine_.ranks();
  std::vector<RolloutRecord> records;
  if (samplers.is_here())
    records = sampled(step, of_sampling);
  else
    attend_collection(reward_models_, samplers, step);
  metrics.merge(told(samplers, of_sampling));
  prompts_state_ = tell_message(StateMessage{prompts_state_}, samplers, "where the prompts stand").state;
  if (plan_.steps_ahead == 0) close();
  return records;
}

std::vector<RolloutRecord> Sampling::sampled(int64_t step, Metrics& metrics) {
  Ahead& ahead = begun(step);
  ahead.quota.limit(1);
  collector_->complete(*ahead.job, *engine_.get(), engine_.tokenizer());
  finish(ahead);
  ahead.job->statistics.add_to(metrics);
  add_group_metrics(ahead.quota.counts(), metrics);
  prompts_state_ = std::move(ahead.prompts_state);
  std::vector<RolloutRecord> records = std::move(*ahead.records);
  ahead_.erase(step);
  return records;
}

Sampling::Ahead& Sampling::begun(int64_t step) {
  const auto [found, is_new] =
      ahead_.try_emplace(step, Ahead{GroupQuota(quota_, *prompts_, plan_.filters, plan_.num_additional_prompts)});
  Ahead& ahead = found->second;
  if (is_new)
    ahead.job = collector_->begin({.quota = &ahead.quota,
                                   .num_samples = plan_.num_samples,
                                   .with_baseline = plan_.with_baseline,
                                   .step = step,
                                   .version = step - 1,
                                   .sampling = params_for(Purpose::kSample, step),
                                   .phase = fmt::format("step {}: generate", step)});
  return ahead;
}

/// The stream goes back behind the step's last prompt, where the next one begins.
void Sampling::finish(Ahead& ahead) {
  if (ahead.records) return;
  ahead.records = ahead.quota.take(collector_->finish(*ahead.job));
  ahead.prompts_state = prompts_->state();
}

std::vector<RolloutRecord> Sampling::validation(int64_t step) {
  engine_.open();
  world_.traffic().set_phase("generate");
  if (!engine_.ranks().is_here()) {
    attend_collection(reward_models_, engine_.ranks(), step);
    return {};
  }
  for (auto& [number, ahead] : ahead_)
    if (!ahead.records) ahead.job->collection.park();
  CollectRequest request{.num_samples = plan_.num_validation_samples,
                         .step = step,
                         .version = step,
                         .sampling = params_for(Purpose::kValidate, step),
                         .phase = fmt::format("step {}: validate", step),
                         .may_stop = step == 0};  // else the step's weights are changed already: it is finished
  for (const Row& row : validation_rows_) request.rows.push_back(&row);
  const auto job = collector_->begin(std::move(request));
  collector_->complete(*job, *engine_.get(), engine_.tokenizer());
  return collector_->finish(*job);
}

void Sampling::run_ahead(int64_t step) {
  const double ratio = plan_.steps_ahead;
  if (!bell_) return;
  world_.traffic().set_phase("generate");
  const auto rung = std::make_shared<std::vector<std::string>>();
  const auto have_trained = bell_->start_all_gather_bytes({}, rung, "end of training");
  const int64_t last = std::min(plan_.last_step, step + static_cast<int64_t>(std::ceil(ratio)));
  for (int64_t next = step + 1; engine_.get() && prompts_ && next <= last; ++next) {
    Ahead& ahead = begun(next);
    ahead.quota.limit(ratio - static_cast<double>(next - step - 1));
    collector_->run_ahead(*ahead.job, *engine_.get(), engine_.tokenizer(), step - 1,
                          [&] { return have_trained->is_done(); });
    const bool all_is_there =
        ahead.quota.is_full() && ahead.job->collection.is_complete() && reward_models_.empty();  // which judge later
    if (!all_is_there) break;
    finish(ahead);
  }
  have_trained->wait();
  close();
}

}  // namespace roll
