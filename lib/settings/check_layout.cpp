#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "base/ranges.h"
#include "data/prompt_stream.h"
#include "model/parameter_shards.h"
#include "pipeline/split_rule.h"
#include "settings/checks.h"
#include "settings/judging_models.h"
#include "settings/placement.h"

namespace roll {

namespace {

/// Checks that two spellings of one size agree; returns the one that is set.
const std::optional<int64_t>& one_spelling(const std::optional<int64_t>& name, const std::optional<int64_t>& other,
                                           Checker& check) {
  check.require(!name || !other || *name == *other, other, "is another spelling of {}; keep one of the two",
                check.name(name));
  return name ? name : other;
}

/// Checks the keys of a pipeline against each other, and that none is set without a pipeline.
void check_stages(const WorkerConfig& worker, Checker& check) {
  const StrategyConfig& s = worker.strategy_args.strategy_config;
  const auto& pp = s.pipeline_model_parallel_size;
  const auto &first = s.num_layers_in_first_pipeline_stage, &last = s.num_layers_in_last_pipeline_stage;
  const bool sets_end_stages = first || last;
  const auto& layout = s.pipeline_model_parallel_layout;
  const auto require_stages = [&](const auto& key) {
    check.require(!key || pp.value_or(1) > 1, key, "has no effect with one stage: set {} above 1, or remove it",
                  check.key(pp));
  };
  require_stages(first);
  require_stages(last);
  require_stages(layout);
  const auto& chunks = s.virtual_pipeline_model_parallel_size;
  if (chunks.value_or(1) > 1) require_stages(chunks);
  check.require(!sets_end_stages || !layout, layout, "sets the layers of all stages; remove it, or {}",
                first ? check.name(first) : check.name(last));
  for (const bool* counts : {&s.account_for_embedding_in_pipeline_split, &s.account_for_loss_in_pipeline_split})
    check.require(!*counts || (!sets_end_stages && !layout), *counts,
                  "is for an even split, but other keys set the layers of stages; remove it, or those keys");
}

/// Checks that the role's ranks can be split into groups that share a model.
void check_sizes(const WorkerConfig& worker, Checker& check) {
  const StrategyConfig& s = worker.strategy_args.strategy_config;
  const auto& tp = one_spelling(s.tensor_model_parallel_size, s.tensor_parallel_size, check);
  const auto& cp = one_spelling(s.context_parallel_size, s.ulysses_size, check);
  const int64_t pp = s.pipeline_parallel();
  check.require(std::ssize(worker.ranks) % s.model_ranks() == 0,
                tp   ? tp
                : cp ? cp
                     : s.pipeline_model_parallel_size,
                "{}{} tensor x {} context ranks share a model, so the {} ranks of the role must be a multiple of {}; "
                "change the sizes, device_mapping or -n",
                pp > 1 ? fmt::format("{} stages x ", pp) : "", s.tensor_parallel(), s.context_parallel(),
                worker.ranks.size(), s.model_ranks());
  check_stages(worker, check);
  const int64_t shards = std::ssize(worker.ranks) / (pp * s.tensor_parallel());
  check.require(shards % s.expert_parallel() == 0, s.expert_model_parallel_size,
                "must divide the {} data x context ranks of {}; change the sizes, device_mapping or -n", shards,
                pp > 1 ? "a stage of the role" : "the role");
  check.require(
      s.expert_tensor_parallel_size.value_or(s.tensor_parallel()) == s.tensor_parallel(), s.expert_tensor_parallel_size,
      "must be the role's tensor_model_parallel_size, {}: tensor ranks split experts' matrices like all others",
      s.tensor_parallel());
}

/// Checks that a role that answers requests has no pipeline and no expert parallelism: its groups of tensor ranks work
/// independently, so expert ranks would wait for each other.
void check_serving_role(const WorkerConfig& worker, Checker& check) {
  const auto& pp = worker.strategy_args.strategy_config.pipeline_model_parallel_size;
  check.require(pp.value_or(1) == 1, pp,
                "a role that answers requests holds all layers on each group of tensor ranks; set it to 1");
  const auto& ep = worker.strategy_args.strategy_config.expert_model_parallel_size;
  check.require(ep.value_or(1) == 1, ep,
                "a role that answers requests holds all experts on each group of tensor ranks; set it to 1");
}

void check_recomputation(const StrategyConfig& s, Checker& check) {
  const auto& method = s.recompute_method;
  const auto& layers = s.recompute_num_layers;
  check.require(!layers || method, layers, "has no effect without {}: set that to uniform or block", check.key(method));
  check.require(method != RecomputeMethod::kBlock || layers, method, "needs {}, the number of recomputed layers",
                check.key(layers));
  check.require(method != RecomputeMethod::kAuto || !layers, layers,
                "is chosen automatically with {}; remove one of the two", check.name(method));
  check.require(method != RecomputeMethod::kUniform || layers != 0, layers,
                "with {} it is the number of layers recomputed together: must be at least 1", check.name(method));
}

void check_trainer(const WorkerConfig& worker, Checker& check) {
  const auto& name = worker.strategy_args.strategy_name;
  check.require(trains(name), name, "a role that is trained needs a *_train strategy, e.g. megatron_train");
  const StrategyConfig& strategy = worker.strategy_args.strategy_config;
  check_recomputation(strategy, check);
  if (worker.wants_gathered_layers() && !worker.gathers_layers())
    check.note(
        fmt::format("{}: every rank keeps whole layers: layers are not split with adapters, with pipeline stages, with "
                    "expert parallelism, or if {} is false",
                    strategy.zero_optimization.stage               ? check.name(strategy.zero_optimization.stage)
                    : check.is_set(strategy.reshard_after_forward) ? check.name(strategy.reshard_after_forward)
                                                                   : check.name(name),
                    check.key(strategy.use_distributed_optimizer)));
}

/// Returns the most groups of a domain per step. Each domain runs ahead by the same share of its groups, rounded down.
int64_t most_groups_of_a_domain(const Config& config) {
  const auto& shares = config.actor_train.data_args.domain_interleave_probs;
  if (shares.empty()) return config.prompts_per_step();  // the rows decide, and are not read here
  int64_t largest = 1;
  for (const auto& [domain, groups] : split_by_share(shares, config.prompts_per_step()))
    largest = std::max(largest, groups);
  return largest;
}

/// Checks that async rollout has devices that only sample, because they are busy while the others train.
void check_sampling_ahead(const Config& config, Checker& check) {
  if (!config.samples_ahead()) return;
  std::vector<int> shared_ranks;
  std::ranges::set_intersection(learner_ranks(config), config.actor_infer.ranks, std::back_inserter(shared_ranks));
  check.require(
      shared_ranks.empty(), config.async_generation_ratio,
      "needs devices that only sample, but ranks {} also train or compute log-probs and values; give actor_infer "
      "devices that actor_train, reference, teacher and critic do not use (device_mapping), or set this to 0",
      ranges_text(shared_ranks));
  const int64_t max_groups = most_groups_of_a_domain(config);
  if (config.async_generation_ratio * static_cast<double>(max_groups) < 1)
    check.note(fmt::format(
        "{} of the {} groups of a domain in a step is less than one group: nothing is sampled ahead; set {:.4g} or "
        "more",
        check.name(config.async_generation_ratio), max_groups, std::ceil(1e4 / static_cast<double>(max_groups)) / 1e4));
}

/// Notes that sampling has no context parallelism: attention reads KV cache pages of one group of tensor ranks.
void note_sampler_context(const StrategyConfig& strategy, Checker& check) {
  if (strategy.context_parallel() <= 1) return;
  const auto& key = strategy.context_parallel_size ? strategy.context_parallel_size : strategy.ulysses_size;
  check.note(fmt::format(
      "{}: sampling splits no sequence over ranks; each group of {} tensor ranks samples different responses",
      check.name(key), strategy.tensor_parallel()));
}

}  // namespace

void complete_ulysses(WorkerConfig& worker, Checker& check) {
  const auto& model_args_size = worker.model_args.ulysses_size;
  auto& size = worker.strategy_args.strategy_config.ulysses_size;
  if (!model_args_size) return;
  check.require(!size || *size == *model_args_size, model_args_size, "is another spelling of {}; keep one of the two",
                check.name(size));
  size = model_args_size;
}

void complete_expert_ranks(WorkerConfig& worker, Checker& check) {
  StrategyArgs& strategy = worker.strategy_args;
  const auto& ep_size = strategy.strategy_config.ep_size;
  auto& size = strategy.strategy_config.expert_model_parallel_size;
  if (!ep_size) return;
  if (!is_fsdp2(strategy.strategy_name))
    return check.note(
        fmt::format("{}: only the fsdp2 strategy reads it; here tensor ranks split every expert, and {} sets expert "
                    "parallelism of a trained role",
                    check.key(ep_size), check.key(size)));
  check.require(!size || *size == *ep_size, ep_size, "is another spelling of {}; keep one of the two",
                check.name(size));
  size = ep_size;
}

void complete_zero(WorkerConfig& worker, Checker& check) {
  StrategyConfig& strategy = worker.strategy_args.strategy_config;
  const auto& stage = strategy.zero_optimization.stage;
  if (!stage) return;
  const auto set_key = [&](auto& key, bool value) {
    check.require(!check.is_set(key) || key == value, stage, "contradicts {}; keep one of the two", check.name(key));
    key = value;
  };
  set_key(strategy.use_distributed_optimizer, *stage > 0);
  set_key(strategy.reshard_after_forward, *stage == 3);
}

void check_layout(const WorkerConfig& worker, Checker& check) {
  check_sizes(worker, check);
  check_trainer(worker, check);
}

void check_forward_layout(const WorkerConfig& worker, Checker& check) {
  check_sizes(worker, check);
}

void check_layout(const Config& config, Checker& check) {
  for (const auto& [name, worker] : trained_roles(config)) check_layout(*worker, check);
  const WorkerConfig& sampler = config.actor_infer;
  check_sizes(sampler, check);
  check_serving_role(sampler, check);
  note_sampler_context(sampler.strategy_args.strategy_config, check);
  const int64_t tp = sampler.strategy_args.strategy_config.tensor_parallel();
  const auto& devices = sampler.num_gpus_per_worker;
  const bool size_decides = sampler.strategy_args.strategy_name == Strategy::kVllm;  // true in ROLL too
  check.require(size_decides || devices.value_or(tp) == tp, devices,
                "must equal the sampler's tensor_parallel_size, which is {}", tp);
  if (size_decides && devices.value_or(tp) != tp)
    check.note(fmt::format("{}: has no effect with vllm; tensor_parallel_size is {}", check.name(devices), tp));
  const int64_t& block = sampler.strategy_args.strategy_config.block_size;
  check.require(block % 8 == 0, block, "must be a multiple of 8");
  const auto& pages = sampler.strategy_args.strategy_config.num_gpu_blocks_override;
  check.require(
      !pages || *pages * block >= config.sequence_length.value_or(0), pages,
      "pages of {} tokens must hold a sequence of prompt_length + response_length = {} tokens; give at least {}", block,
      config.sequence_length.value_or(0), (config.sequence_length.value_or(0) + block - 1) / block);
  check_sampling_ahead(config, check);
  for (const auto& [name, worker] : reference_roles(config)) check_sizes(*worker, check);
  for (const JudgingModel& judge : judging_models(config)) {
    check_sizes(*judge.worker, check);
    check_serving_role(*judge.worker, check);
    if (judge.writes()) note_sampler_context(judge.worker->strategy_args.strategy_config, check);
  }
}

namespace {

/// Checks that the model's layers can be split over the pipeline stages, and that every stage has adapters to train.
void check_split(const StrategyConfig& s, const ModelSpec& spec, Checker& check) {
  const auto split_result = try_stage_split(s, spec.num_layers);
  if (const auto* fault = std::get_if<SplitFault>(&split_result)) {
    using Key = SplitFault::Key;
    check.require(fault->key != Key::kSize, s.pipeline_model_parallel_size, "{}", fault->rule);
    check.require(fault->key != Key::kChunks, s.virtual_pipeline_model_parallel_size, "{}", fault->rule);
    check.require(fault->key != Key::kFirst, s.num_layers_in_first_pipeline_stage, "{}", fault->rule);
    check.require(fault->key != Key::kLast, s.num_layers_in_last_pipeline_stage, "{}", fault->rule);
    check.require(fault->key != Key::kLayout, s.pipeline_model_parallel_layout, "{}", fault->rule);
  }
  if (!spec.lora || !std::holds_alternative<StageSplit>(split_result)) return;
  const auto& split = std::get<StageSplit>(split_result);
  std::set<int64_t> with_adapters;
  for (const ParameterShape& parameter : select_trained(spec, backbone_parameters(spec)))
    with_adapters.insert(split.layer_stage(parameter.layer));
  for (int64_t stage = 0; stage < split.num_stages(); ++stage)
    check.require(with_adapters.contains(stage), s.pipeline_model_parallel_size,
                  "no matrix of stage {} has adapters, so the stage would train nothing; name more matrices in "
                  "lora_target, or change the stages",
                  stage + 1);
}

}  // namespace

void check_model_layout(const StrategyArgs& strategy, const ModelSpec& spec, Checker& check) {
  const StrategyConfig& s = strategy.strategy_config;
  const auto& tp = s.tensor_model_parallel_size ? s.tensor_model_parallel_size : s.tensor_parallel_size;
  const std::string rule = tensor_parallel_rule(spec, tp.value_or(1));
  for (const double* coefficient : {&s.moe_aux_loss_coeff, &s.moe_z_loss_coeff})
    check.require(spec.mixture || *coefficient == 0, *coefficient, "the model has no experts; leave it out");
  check.require(s.moe_router_bias_update_rate == 0 || (spec.mixture && spec.mixture->routing.is_sigmoid),
                s.moe_router_bias_update_rate, "the model's routers have no bias; leave it out");
  check.require(rule.empty(), tp, "{}", rule);
  check_split(s, spec, check);
  check.require(s.recompute_num_layers.value_or(0) <= spec.num_layers, s.recompute_num_layers,
                "must be at most the number of the model's layers, {}", spec.num_layers);
  const auto& ep = s.expert_model_parallel_size;
  check.require(spec.mixture || ep.value_or(1) == 1, ep, "the model has no experts; set it to 1");
  check.require(!spec.mixture || spec.mixture->routing.count % s.expert_parallel() == 0, ep,
                "must divide the model's {} experts", spec.mixture ? spec.mixture->routing.count : 0);
}

void check_routing(const Config& config, const ModelSpec& policy, Checker& check) {
  const auto require_experts = [&](const auto& key) {
    check.require(policy.mixture || !config.routing_replay.value(), key, "the model has no experts; leave it out");
  };
  if (check.is_set(config.routing_replay))
    require_experts(config.routing_replay);
  else
    require_experts(config.actor_train.router_replay.mode);
}

}  // namespace roll
