#include "settings/sampling_plan.h"

#include <algorithm>

namespace roll {

SamplingPlan sampling_plan(const Config& config) {
  const GeneratingArgs& training = config.actor_infer.generating_args;
  const StrategyConfig& engine = config.actor_infer.strategy_args.strategy_config;
  SamplingPlan plan{.training = sampling_settings(training),
                    .num_samples = config.num_return_sequences_in_group,
                    .with_baseline = config.experience.adv_estimator->samples_baseline,
                    .seed = static_cast<uint64_t>(config.seed),
                    .max_running_requests = config.max_running_requests,
                    .speculates = config.actor_infer.speculation == Speculation::kAuto,
                    .shares_prefill = engine.enable_prefix_caching,
                    .most_prompts = config.most_prompts(),
                    .num_additional_prompts = config.additional_prompts(),
                    .steps_ahead = config.samples_ahead() ? config.async_generation_ratio : 0,
                    .last_step = config.num_steps(),
                    .plays = config.agentic.is_used(),
                    .response_length = config.response_length.value(),
                    .val_response_length = config.val_sequence_length.value() - config.val_prompt_length.value(),
                    .sequence_length = config.sequence_length.value(),
                    .val_sequence_length = config.val_sequence_length.value(),
                    .sets = {},
                    .filters = {},
                    .limits = {.num_slots = config.max_running_requests,
                               .weight_bits = config.actor_infer.model_args.weight_bits(),
                               .records_experts = config.routing_replay.value_or(false)},
                    .cache = cache_settings(engine)};
  for (const auto& [domain, worker] : config.rewards) plan.filters[domain] = worker.reward.query_filter_config;
  plan.limits.max_length = config.prompt_length + (plan.plays ? plan.response_length : plan.training.max_new_tokens);
  const auto add_set = [&](const std::string& name, const GeneratingArgs& args) {
    const SetPlan& set =
        plan.sets.emplace_back(SetPlan{name, sampling_settings(args), args.num_return_sequences.value()});
    plan.limits.max_length =
        std::max(plan.limits.max_length, config.val_prompt_length.value() +
                                             (plan.plays ? plan.val_response_length : set.sampling.max_new_tokens));
  };
  if (config.validates_rows()) add_set("", config.validation.generating_args);
  for (const auto& [name, set] : config.validation.sets) add_set(name, set.generating_args);
  plan.limits.max_rows = engine.max_num_batched_tokens.value_or(plan.limits.max_rows);
  return plan;
}

}  // namespace roll
