#include "collect/policy_engine.h"

#include <algorithm>

namespace roll {

namespace {

/// Number of slots for what one rank group samples at once, with prompts shared evenly.
int64_t num_slots(const SamplingPlan& plan, const std::vector<std::pair<int64_t, int64_t>>& validations,
                  int64_t num_groups) {
  const auto slots_for = [&](int64_t prompts, int64_t samples) {
    return (prompts + num_groups - 1) / num_groups * samples;
  };
  int64_t most_slots = slots_for(plan.most_prompts, plan.samples_per_prompt());
  for (const auto& [prompts, samples] : validations) most_slots = std::max(most_slots, slots_for(prompts, samples));
  return std::clamp<int64_t>(most_slots, 1, plan.limits.num_slots);
}

}  // namespace

PolicyEngine::PolicyEngine(const SamplingPlan& plan, const std::vector<std::pair<int64_t, int64_t>>& validations,
                           const Tokenizer& tokenizer, Roles& roles, const RoleMeshes& meshes, Offload* offload,
                           Traffic& traffic)
    : tokenizer_(tokenizer),
      roles_(roles),
      meshes_(meshes),
      offload_(offload),
      traffic_(traffic),
      limits_(plan.limits),
      cache_(plan.cache) {
  if (meshes.sampler.is_here()) limits_.num_slots = num_slots(plan, validations, meshes.sampler.mesh().dp_size());
}

void PolicyEngine::open() {
  if (is_open_) return;
  is_open_ = true;
  update_sampler(roles_, meshes_, traffic_);
  if (!meshes_.sampler.is_here()) return;
  if (offload_) offload_->put_away();
  EngineLimits limits = limits_;
  limit_cache(limits, cache_, roles_.sampling_policy(), meshes_.sampler.mesh().tp());
  engine_.emplace(roles_.sampling_policy(), tokenizer_, limits);
}

void PolicyEngine::close() {
  is_open_ = false;
  if (!engine_) return;
  engine_.reset();
  if (offload_) offload_->bring_back();
}

}  // namespace roll
