#include "forecast/step_forecast.h"

#include <algorithm>

#include "model/device.h"
#include "model/spec.h"
#include "settings/placement.h"

namespace roll {

namespace {

/// Assigns sequences to the ranks that sample or read them: groups in turn over the sampler's leaders, as
/// rollout_replay does.
Distribution sampled_by(const Config& config, int64_t num_ranks, const ThinStep& step) {
  Distribution holders;
  for (int rank = 0; rank < num_ranks; ++rank) holders.ranks.push_back({rank});
  holders.shares.resize(num_ranks);
  const std::vector<int>& ranks = config.actor_infer.ranks;
  const int64_t tp = mesh_shape(config.actor_infer).tp, num_samplers = std::ssize(ranks) / tp;
  for (int64_t s = 0; s < step.num_sequences(); ++s)
    holders.shares[ranks[s / step.group_size % num_samplers * tp]].push_back(s);
  return holders;
}

DecodingCost operator*(const DecodingCost& cost, double times) {
  return {cost.bytes * times, cost.flops * times};
}

/// Returns the sampling cost of each rank that shares the sampler's model. Prompts are computed once per group, as are
/// environment tokens between turns. Decoding runs token by token until the longest sequence, or the last in the queue,
/// ends.
SamplingWork sampling_work(const SimulatedWorld& world, const ThinStep& step, const std::vector<int64_t>& sequences) {
  SamplingWork work;
  if (sequences.empty()) return work;
  const Config& config = world.planned;
  const at::Device device = world.ranks.path == Path::kDevice ? at::kCUDA : at::kCPU;
  const auto element = static_cast<int64_t>(c10::elementSize(model_dtype(config.actor_train.model_args, device)));
  const NumberBytes bytes{
      sampled_weight_bytes(config.actor_infer.model_args.weight_bits(), static_cast<double>(element)), element};
  ModelSpec spec = policy_shape(world.models);
  spec.trains_mtp = false;  // only the trainer has the head
  int64_t drawn = 0, longest = 0, longest_prompt = 0, read = 0;
  double prompt_flops = 0;
  for (const int64_t s : sequences) {
    int64_t sampled = 0;  // tokens of earlier turns
    for (const ThinTurn& turn : step.thin_turns(s)) {
      const bool is_shared = sampled == 0 && s % step.group_size != 0;  // the prompt is shared with an earlier response
      sampled += turn.num_sampled;
      read += turn.num_sampled * (turn.num_cached + turn.num_prompt + turn.num_sampled / 2);
      if (is_shared || turn.num_prompt == 0) continue;
      longest_prompt = std::max(longest_prompt, turn.num_prompt);
      prompt_flops += spec.forward_flops(turn.num_prompt, 1);
    }
    drawn += sampled;
    longest = std::max(longest, sampled);
  }
  work.prompts = {step_cost(spec, bytes, 1, 0, longest_prompt).bytes, prompt_flops};
  const int64_t slots = std::min(std::ssize(sequences), config.max_running_requests);
  const int64_t steps = std::max<int64_t>({1, longest, (drawn + slots - 1) / slots});
  const int64_t running = std::max<int64_t>(1, drawn / steps), length = read / std::max<int64_t>(1, drawn);
  work.decoding = step_cost(spec, bytes, running, length, length + 1) * static_cast<double>(steps);
  const double share = 1 / static_cast<double>(mesh_shape(config.actor_infer).tp);
  return {work.prompts * share, work.decoding * share};
}

}  // namespace

std::vector<RankForecast> forecast_step(const SimulatedWorld& world, const ThinStep& step) {
  const Config& config = world.planned;
  const Distribution holders = sampled_by(config, world.ranks.num_planned(), step);
  std::vector<RankForecast> ranks;
  for (PlannedWork& work : run_planned_step(world, step, holders)) ranks.push_back({std::move(work), {}});
  if (config.rollout_replay) return ranks;
  const std::vector<int>& samplers = config.actor_infer.ranks;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const auto found = std::ranges::find(samplers, world.ranks.running[i]);
    if (found == samplers.end()) continue;
    const int64_t leader =
        (found - samplers.begin()) / mesh_shape(config.actor_infer).tp * mesh_shape(config.actor_infer).tp;
    ranks[i].sampling = sampling_work(world, step, holders.shares[samplers[leader]]);
  }
  return ranks;
}

}  // namespace roll
