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

Sampling::Sampling(const Config& config, Data data, const Tokenizer& tokenizer, Roles& roles, const RoleMeshes& meshes,
                   RewardModels& reward_models, Offload& offload, Communicator& world, Log& log)
    : config_(config),
      tokenizer_(tokenizer),
      roles_(roles),
      meshes_(meshes),
      reward_models_(reward_models),
      offload_(offload),
      world_(world),
      quota_(std::move(data.quota)),
      validation_rows_(std::move(data.validation)),
      prompts_(std::move(data.prompts)) {
  if (prompts_) prompts_state_ = prompts_->state();
  if (meshes.sampler.is_here())
    collector_.emplace(config.rewards, config.response_length.value(), reward_models, meshes.sampler, log);
  if (config.samples_ahead()) bell_ = world.split(all_ranks(world.size()), "bell");
}

void Sampling::load_prompts_state(const Json& state) {
  if (!prompts_) return;
  prompts_->load_state(state);
  prompts_state_ = state;
}

std::vector<RolloutRecord> Sampling::step(int64_t step, Metrics& metrics) {
  Stopwatch watch;
  Metrics of_sampling;
  open();
  of_sampling.add("time/step_model_update", watch.seconds());  // with the engine's making, where it is made
  world_.traffic().set_phase("generate");
  RoleMesh& samplers = meshes_.sampler;
  std::vector<RolloutRecord> records;
  if (samplers.is_here())
    records = sampled(step, of_sampling);
  else
    attend_collection(reward_models_, samplers, step);
  metrics.merge(told(samplers, of_sampling));
  prompts_state_ = tell_message(StateMessage{prompts_state_}, samplers, "where the prompts stand").state;
  if (!config_.samples_ahead()) close();
  return records;
}

std::vector<RolloutRecord> Sampling::sampled(int64_t step, Metrics& metrics) {
  Ahead& ahead = begun(step);
  ahead.quota.limit(1);
  collector_->complete(*ahead.job, *engine_, tokenizer_);
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
      ahead_.try_emplace(step, Ahead{GroupQuota(quota_, *prompts_, config_.rewards, config_.additional_prompts())});
  Ahead& ahead = found->second;
  if (is_new)
    ahead.job = collector_->begin({.quota = &ahead.quota,
                                   .num_samples = config_.num_return_sequences_in_group,
                                   .with_baseline = samples_baseline(),
                                   .step = step,
                                   .version = step - 1,
                                   .sampling = sampling_params(config_, tokenizer_, Purpose::kSample, step),
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
  open();
  world_.traffic().set_phase("generate");
  if (!meshes_.sampler.is_here()) {
    attend_collection(reward_models_, meshes_.sampler, step);
    return {};
  }
  for (auto& [number, ahead] : ahead_)
    if (!ahead.records) ahead.job->collection.park();
  CollectRequest request{.num_samples = config_.validation.generating_args.num_return_sequences.value_or(1),
                         .step = step,
                         .version = step,
                         .sampling = sampling_params(config_, tokenizer_, Purpose::kValidate, step),
                         .phase = fmt::format("step {}: validate", step),
                         .may_stop = step == 0};  // else the step's weights are changed already: it is finished
  for (const Row& row : validation_rows_) request.rows.push_back(&row);
  const auto job = collector_->begin(std::move(request));
  collector_->complete(*job, *engine_, tokenizer_);
  return collector_->finish(*job);
}

void Sampling::run_ahead(int64_t step) {
  const double ratio = config_.async_generation_ratio;
  if (!bell_) return;
  world_.traffic().set_phase("generate");
  const auto rung = std::make_shared<std::vector<std::string>>();
  const auto have_trained = bell_->start_all_gather_bytes({}, rung, "end of training");
  const int64_t last = std::min(config_.max_steps, step + static_cast<int64_t>(std::ceil(ratio)));
  for (int64_t next = step + 1; engine_ && prompts_ && next <= last; ++next) {
    Ahead& ahead = begun(next);
    ahead.quota.limit(ratio - static_cast<double>(next - step - 1));
    collector_->run_ahead(*ahead.job, *engine_, tokenizer_, step - 1, [&] { return have_trained->is_done(); });
    const bool all_is_there =
        ahead.quota.is_full() && ahead.job->collection.is_complete() && reward_models_.empty();  // which judge later
    if (!all_is_there) break;
    finish(ahead);
  }
  have_trained->wait();
  close();
}

/// **Collective** over the world, where trainer and sampler are apart.
void Sampling::open() {
  if (is_open_) return;
  is_open_ = true;
  update_sampler(roles_, meshes_, world_.traffic());
  if (!meshes_.sampler.is_here()) return;
  offload_.put_away();
  Mesh& mesh = meshes_.sampler.mesh();
  const auto share_of = [groups = mesh.dp_size()](int64_t rows, int64_t samples) {
    return (rows + groups - 1) / groups * samples;
  };
  const int64_t validation_samples = config_.validation.generating_args.num_return_sequences.value_or(1);
  EngineLimits limits = engine_limits(config_, std::max(share_of(config_.most_prompts(), config_.samples_per_prompt()),
                                                        share_of(std::ssize(validation_rows_), validation_samples)));
  limit_cache(limits, config_.actor_infer.strategy_args.strategy_config, roles_.sampling_policy(), mesh.tp());
  engine_.emplace(roles_.sampling_policy(), tokenizer_, limits);
}

void Sampling::close() {
  is_open_ = false;
  if (!engine_) return;
  engine_.reset();
  offload_.bring_back();
}

}  // namespace roll
