#include "convert/verl_layout.h"

#include <fmt/format.h>

#include <algorithm>

#define ACTOR "actor_rollout_ref.actor."
#define MEGATRON ACTOR "megatron."
#define OVERRIDE MEGATRON "override_transformer_config."
#define SAMPLER_RANKS "actor_rollout_ref.rollout.tensor_model_parallel_size"

namespace roll {

namespace {

/// R3: training routes tokens to the experts that the sampler chose.
void combine_replay(Conversion& c) {
  for (const char* key :
       {ACTOR "router_replay.mode", ACTOR "megatron.router_replay.mode", ACTOR "veomni.router_replay.mode"}) {
    const std::string mode = c.text(key);
    if (mode == "R3")
      c.set("routing_replay", "true", c.origin(key));
    else if (!is_off(mode, "disabled"))
      throw c.refused(key, "replaying the trainer's routing is not supported; R3 replays the sampler's");
  }
}

}  // namespace

int64_t set_verl_layout(Conversion& c) {
  static constexpr std::pair<const char*, const char*> kStages[] = {
      {MEGATRON "pipeline_model_parallel_size", "pipeline_model_parallel_size"},
      {MEGATRON "virtual_pipeline_model_parallel_size", "virtual_pipeline_model_parallel_size"},
      {OVERRIDE "num_layers_in_first_pipeline_stage", "num_layers_in_first_pipeline_stage"},
      {OVERRIDE "num_layers_in_last_pipeline_stage", "num_layers_in_last_pipeline_stage"},
      {OVERRIDE "account_for_embedding_in_pipeline_split", "account_for_embedding_in_pipeline_split"},
      {OVERRIDE "account_for_loss_in_pipeline_split", "account_for_loss_in_pipeline_split"},
      {OVERRIDE "pipeline_model_parallel_layout", "pipeline_model_parallel_layout"},
  };
  const int64_t context =
      std::max(c.count(ACTOR "ulysses_sequence_parallel_size"), c.count(MEGATRON "context_parallel_size"));
  const int64_t tensor = c.count(MEGATRON "tensor_model_parallel_size");
  const int64_t sampler = std::min(c.num_ranks, c.count(SAMPLER_RANKS));
  const int64_t stages = set_stages(c, kStages);
  set_expert_ranks(c, MEGATRON "expert_model_parallel_size", std::max<int64_t>(1, c.num_ranks / (tensor * stages)));
  for (const char* role : {"actor_train", "reference", "critic"}) {
    const std::string layout = std::string(role) + ".strategy_args.strategy_config.";
    if (context > 1)
      c.set(layout + "context_parallel_size", fmt::format("{}", context),
            c.origin({ACTOR "ulysses_sequence_parallel_size", MEGATRON "context_parallel_size"}));
    if (tensor > 1)
      c.set(layout + "tensor_model_parallel_size", fmt::format("{}", tensor),
            c.origin(MEGATRON "tensor_model_parallel_size"));
  }
  c.set("actor_infer.strategy_args.strategy_config.tensor_parallel_size", fmt::format("{}", sampler),
        c.origin(SAMPLER_RANKS));
  combine_replay(c);
  return context * tensor * stages;
}

}  // namespace roll
