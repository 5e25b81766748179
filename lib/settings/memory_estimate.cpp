#include "settings/memory_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <span>

#include "checkpoint/base_folder.h"
#include "model/activation_memory.h"
#include "model/device.h"
#include "model/spec.h"
#include "model/workload.h"
#include "optim/flat_layout.h"
#include "optim/learner.h"
#include "pipeline/schedule.h"
#include "pipeline/split_rule.h"
#include "settings/batch_plan.h"
#include "settings/judging_models.h"
#include "settings/placement.h"

namespace roll {

namespace {

/// What the first of `tp` tensor ranks holds of a parameter; no other holds more.
FlatParameter largest_part(const ParameterShape& parameter, int64_t tp) {
  return flat_shard(parameter, 0, tp);
}

double numel_of_part(const ParameterShape& parameter, int64_t tp) {
  return static_cast<double>(largest_part(parameter, tp).numel);
}

/// Of a parameter that is not trained, `bytes` a number where it is not quantised.
double frozen_bytes(const ParameterShape& parameter, int64_t tp, double bytes) {
  if (!parameter.quantised) return (parameter.is_wide ? std::max(bytes, 4.0) : bytes) * numel_of_part(parameter, tp);
  const std::vector<ParameterShape> stored = stored_shapes(parameter);
  return numel_of_part(stored[0], tp) + 4 * numel_of_part(stored[1], tp);
}

/// The stage of a role's model that lives on a rank.
struct OwnStage {
  StageSplit split{};
  int64_t index = 0;

  bool is_last() const { return index == split.num_stages() - 1; }
  bool has(const ParameterShape& p) const {
    return split.stage_of(p.layer) == index || (p.is_at_both_ends && is_last());
  }
  std::vector<ParameterShape> of(const std::vector<ParameterShape>& parameters) const {
    std::vector<ParameterShape> own;
    std::ranges::copy_if(parameters, std::back_inserter(own), [this](const ParameterShape& p) { return has(p); });
    return own;
  }
  /// Empty: all.
  std::vector<int64_t> layers() const {
    return split.num_stages() == 1 ? std::vector<int64_t>() : split.layers_of(index);
  }
};

OwnStage stage_on(int rank, const WorkerConfig& worker, const ModelSpec& spec) {
  const auto split = try_stage_split(worker.strategy_args.strategy_config, spec.num_layers);
  if (!std::holds_alternative<StageSplit>(split)) return {};
  return {std::get<StageSplit>(split), mesh_place(*place_of(rank, worker), mesh_shape(worker)).pp};
}

/// Of the weights without adapters; `is_dense`: of what they are quantised from.
double policy_bytes(const ModelSpec& spec, int64_t tp, double bytes, bool is_dense = false, int64_t ep = 1,
                    const OwnStage& stage = {}) {
  double all = 0;
  const auto parameters = shared_policy_parameters(spec);
  for (const ParameterShape& parameter : *parameters) {
    if (parameter.is_adapter || !stage.has(parameter) || (parameter.expert && parameter.expert->owner(ep) != 0))
      continue;
    all += is_dense ? bytes * numel_of_part(parameter, tp) : frozen_bytes(parameter, tp, bytes);
  }
  return all;
}

/// Numbers of the layers' matrices.
double layer_numel(const ModelSpec& spec, int64_t tp) {
  double numel = 0;
  const auto parameters = backbone_parameters(spec);
  for (const auto& parameter : std::span(parameters).subspan(1))  // the embedding is the first
    if (!parameter.is_adapter && parameter.shape.size() == 2) numel += numel_of_part(parameter, tp);
  return numel;
}

int64_t tensor_ranks(const WorkerConfig& worker) {
  return worker.strategy_args.strategy_config.tensor_parallel();
}

/// What an update that gathers layers does without: weights, of which two layers are here at a time, and gradients, of
/// one.
void take_away_layers(MemoryEstimate& memory, const WorkerConfig& worker, const std::vector<ParameterShape>& parameters,
                      double bytes) {
  const auto holders = static_cast<double>(worker.ranks.size()) / static_cast<double>(tensor_ranks(worker));
  if (!worker.gathers_layers()) return;
  std::map<int64_t, double> layers;  // numbers of those that are recomputed; the others wait for their backward
  for (const ParameterShape& parameter : parameters) {
    const FlatParameter own = largest_part(parameter, tensor_ranks(worker));
    const int64_t layer = layer_number(parameter.name);
    if (layer >= 0 && own.is_matrix && own.copies == 1 && layer < worker.recomputation().layers &&
        !is_frozen(parameter.name, worker.model_args.freeze_module_prefix))
      layers[layer] += static_cast<double>(own.numel);
  }
  double all = 0, largest = 0;
  for (const auto& [layer, numel] : layers) {
    all += numel;
    largest = std::max(largest, numel);
  }
  const double away = all * (1 - 1 / holders);
  memory.gathered += std::max(0.0, away - 2 * largest) * bytes;
  memory.gradients -= std::max(0.0, away - largest) * 4;
}

void add_trained(MemoryEstimate& memory, const WorkerConfig& worker, const std::vector<ParameterShape>& parameters,
                 at::ScalarType dtype) {
  const auto bytes = static_cast<double>(c10::elementSize(dtype));
  const bool has_adapters = std::ranges::any_of(parameters, &ParameterShape::is_adapter);  // float32
  const double master = has_adapters ? 0 : dtype == at::kBFloat16 ? 2 : dtype == at::kHalf ? 4 : 0;
  const int64_t tp = tensor_ranks(worker);
  const bool shares = worker.strategy_args.strategy_config.use_distributed_optimizer;
  const int64_t pp = worker.strategy_args.strategy_config.pipeline_parallel();
  const int64_t holders = std::max<int64_t>(1, std::ssize(worker.ranks) / (tp * pp));
  const int64_t ep = worker.strategy_args.strategy_config.expert_parallel();
  struct Trained {
    std::vector<FlatParameter> parameters;
    int64_t numel = 0;
  };
  Trained of_all, of_experts;  // held by all, and by those with the same experts
  for (const auto& parameter : held_by(parameters, 0, ep)) {
    FlatParameter own = largest_part(parameter, tp);
    if (pp > 1 && parameter.is_at_both_ends) own.copies *= 2;
    const bool is_base = has_adapters && !parameter.is_adapter;
    if (is_base || parameter.is_constant || is_frozen(parameter.name, worker.model_args.freeze_module_prefix)) {
      memory.weights += frozen_bytes(parameter, tp, bytes);
    } else {
      Trained& kind = ep > 1 && parameter.expert ? of_experts : of_all;
      kind.parameters.push_back(own);
      kind.numel += own.numel;
    }
  }
  for (const Trained* kind : {&of_all, &of_experts}) {
    if (kind->parameters.empty()) continue;
    const int64_t shards = !shares ? 1 : kind == &of_experts ? holders / ep : holders;
    const auto numel =
        static_cast<double>(plan_flat_layout(kind->parameters, shards, bucket_elements_for(kind->numel)).total);
    memory.weights += (has_adapters ? 4 : bytes) * numel;
    memory.gradients += 4 * numel;
    memory.optimizer += (8 + master) * numel / static_cast<double>(shards);
  }
  take_away_layers(memory, worker, parameters, bytes);
}

/// Of micro-batches, of training or of log-probs and values.
ActivationRule rule_of(const Config& config, const WorkerConfig& worker, const ModelSpec& spec, bool on_gpu,
                       bool trains) {
  const StrategyConfig& layout = worker.strategy_args.strategy_config;
  const auto [tokens, whole] = full_micro_batch(config, worker, workload_of(spec), trains);
  return {.tokens = tokens,
          .whole = whole,
          .longest = std::min(tokens, config.sequence_length.value_or(0)),
          .tp = layout.tensor_parallel(),
          .cp = layout.context_parallel(),
          .ep = layout.expert_parallel(),
          .dtype = model_dtype(worker.model_args, on_gpu ? at::kCUDA : at::kCPU),
          .on_gpu = on_gpu,
          .deterministic = config.deterministic};
}

double training_bytes(const Config& config, const WorkerConfig& worker, const ModelSpec& spec, const OwnStage& stage,
                      bool on_gpu) {
  ActivationRule rule = rule_of(config, worker, spec, on_gpu, /*trains=*/true);
  rule.recomputation = worker.recomputation();
  rule.has_lm_head = &worker != &config.critic && stage.is_last();
  rule.layers = stage.layers();
  rule.under_way = most_under_way(stage.index, {stage.split.num_stages(), stage.split.num_chunks()});
  return training_activation_bytes(spec, rule);
}

double forward_bytes(const Config& config, const WorkerConfig& worker, const ModelSpec& spec, const OwnStage& stage,
                     bool on_gpu) {
  ActivationRule rule = rule_of(config, worker, spec, on_gpu, /*trains=*/false);
  rule.has_lm_head = &worker != &config.critic && stage.is_last();
  rule.layers = stage.layers();
  return forward_activation_bytes(spec, rule);
}

bool computes_old_log_probs(const Config& config) {
  return config.enable_old_logprobs_recompute.value_or(false) || old_log_prob_reasons(config).any();
}

double kv_bytes(const Config& config, const ModelSpec& spec, double bytes) {
  const int64_t tp = tensor_ranks(config.actor_infer);
  const int64_t groups = std::max<int64_t>(1, std::ssize(config.actor_infer.ranks) / tp);
  const int64_t sequences = (config.most_prompts() * config.samples_per_prompt() + groups - 1) / groups;
  const auto running = static_cast<double>(std::min(sequences, config.max_running_requests));
  const int64_t length = config.sequence_length.value_or(0);
  const LayerCost cost = cost_of(spec.layers(), tp);
  double states = 0;  // of a sequence
  if (cost.states > 0) {
    const int64_t page =
        cost.page_tokens(config.actor_infer.strategy_args.strategy_config.block_size, static_cast<int64_t>(bytes));
    const int64_t num_pages = (length + page - 1) / page;
    states = static_cast<double>(num_pages * cost.page_bytes(0, static_cast<int64_t>(bytes)));
  }
  return running * (static_cast<double>(length) * bytes * static_cast<double>(cost.cached) + states);
}

/// Whether the models of both are one folder's, of which either may have adapters.
bool have_one_base(const WorkerConfig& a, const WorkerConfig& b) {
  const auto &one = a.model_args.model_name_or_path, &other = b.model_args.model_name_or_path;
  return one == other || (one && other && base_folder(*one) == base_folder(*other));
}

/// Whether the critic has adapters beside the actor's base (step/roles.cpp).
bool is_on_policy_base(const Config& config, const PlannedModels& models) {
  const WorkerConfig &critic = config.critic, &actor = config.actor_train;
  return models.policy.lora && models.critic->lora && models.policy.quantised == models.critic->quantised &&
         critic.ranks == actor.ranks && mesh_shape(critic) == mesh_shape(actor) &&
         critic.model_args.dtype == actor.model_args.dtype && have_one_base(critic, actor);
}

/// Whether the i-th reference is the actor without its adapters (step/roles.cpp).
bool is_policy_base(const Config& config, const PlannedModels& models, size_t i) {
  const WorkerConfig &reference = *reference_roles(config)[i].worker, &actor = config.actor_train;
  return models.policy.lora && !reference_spec(models, i).lora && reference.ranks == actor.ranks &&
         mesh_shape(reference) == mesh_shape(actor) && reference.model_args.dtype == actor.model_args.dtype &&
         have_one_base(reference, actor);
}

/// Whether a judge or reward model has the actor's frozen base (Roles::base_for).
bool is_on_policy_base(const Config& config, const PlannedModels& models, const JudgingModel& judge,
                       const ModelSpec& spec, at::DeviceType device) {
  const WorkerConfig& actor = config.actor_train;
  MeshShape shape = mesh_shape(*judge.worker);
  if (judge.writes()) shape = {.tp = shape.tp};
  return models.policy.lora && !models.policy.quantised && (judge.writes() || spec.lora) &&
         judge.worker->ranks == actor.ranks && shape == mesh_shape(actor) &&
         model_dtype(judge.worker->model_args, device) == model_dtype(actor.model_args, device) &&
         have_one_base(*judge.worker, actor);
}

double judging_bytes(const Config& config, const PlannedModels& models, size_t i, at::DeviceType device) {
  const JudgingModel judge = judging_models(config)[i];
  const ModelSpec& spec = *models.judges[i];
  std::vector<ParameterShape> own = judge.writes() ? policy_parameters(spec) : critic_parameters(spec);
  if (is_on_policy_base(config, models, judge, spec, device))
    own = spec.lora ? trained_of(spec, own) : std::vector<ParameterShape>();
  double all = 0;
  for (const ParameterShape& parameter : own)
    all += static_cast<double>(parameter.is_adapter ? 4 : bytes_per_number(judge.worker->model_args, device)) *
           static_cast<double>(largest_part(parameter, tensor_ranks(*judge.worker)).numel);
  return all;
}

/// It has the dtype of the trainer.
void add_sampler(MemoryEstimate& memory, const Config& config, const ModelSpec& spec, bool on_gpu, int rank) {
  const auto bytes =
      static_cast<double>(bytes_per_number(config.actor_train.model_args, on_gpu ? at::kCUDA : at::kCPU));
  const int64_t tp = tensor_ranks(config.actor_infer);
  if (!config.trains() || !shares_weights(config, rank)) memory.weights += policy_bytes(spec, tp, bytes);
  // On the CPU it reads a copy of its own, in another order.
  const double packed = config.actor_infer.model_args.reads_int8() ? 1 : bytes;
  if (!on_gpu) memory.weights += policy_bytes(spec, tp, packed, /*is_dense=*/true);
  if (on_gpu && spec.lora) memory.merged = bytes * layer_numel(spec, tp);
  memory.kv_cache = kv_bytes(config, spec, bytes);
}

}  // namespace

MemoryEstimate estimate_memory(const Config& config, const PlannedModels& models, bool on_gpu, int rank) {
  MemoryEstimate memory;
  const at::DeviceType device = on_gpu ? at::kCUDA : at::kCPU;
  const bool offloads = config.offload && on_gpu;
  const auto lives = [rank](const WorkerConfig& worker) { return std::ranges::binary_search(worker.ranks, rank); };
  const auto add_role = [&](const WorkerConfig& worker, const ModelSpec& spec,
                            const std::vector<ParameterShape>& parameters) {
    const auto bytes = static_cast<double>(bytes_per_number(worker.model_args, device));
    const MemoryEstimate before = memory;
    const OwnStage stage = stage_on(rank, worker, spec);
    std::vector<ParameterShape> own = stage.of(parameters);
    if (&worker == &config.critic && is_on_policy_base(config, models)) own = trained_of(spec, std::move(own));
    add_trained(memory, worker, own, model_dtype(worker.model_args, device));
    if (offloads) {
      memory.put_away += memory.gradients + memory.optimizer - before.gradients - before.optimizer;
      if (&worker == &config.critic) memory.put_away += memory.weights - before.weights;
    }
    memory.activations = std::max(memory.activations, training_bytes(config, worker, spec, stage, on_gpu));
    if (&worker == &config.critic || computes_old_log_probs(config))
      memory.activations = std::max(memory.activations, forward_bytes(config, worker, spec, stage, on_gpu));
    memory.checkpoint += memory.optimizer - before.optimizer;
    if (rank != worker.ranks.front()) return;
    for (const auto& parameter : trained_of(spec, parameters))
      memory.checkpoint += (parameter.is_adapter ? 4 : bytes) * static_cast<double>(largest_part(parameter, 1).numel);
  };
  if (config.trains() && lives(config.actor_train))
    add_role(config.actor_train, models.policy, *shared_policy_parameters(models.policy));
  if (config.uses_critic() && models.critic && lives(config.critic))
    add_role(config.critic, *models.critic, critic_parameters(*models.critic));
  const auto references = reference_roles(config);
  for (size_t i = 0; i < references.size(); ++i) {
    const WorkerConfig& worker = *references[i].worker;
    if (!lives(worker)) continue;
    const ModelSpec spec = reference_spec(models, i);
    const OwnStage stage = stage_on(rank, worker, spec);
    const double reference =
        is_policy_base(config, models, i)
            ? 0
            : policy_bytes(spec, tensor_ranks(worker), static_cast<double>(bytes_per_number(worker.model_args, device)),
                           /*is_dense=*/false, worker.strategy_args.strategy_config.expert_parallel(), stage);
    const double forward = forward_bytes(config, worker, spec, stage, on_gpu);
    if (offloads) {
      memory.visiting = std::max(memory.visiting, reference + forward);
    } else {
      memory.weights += reference;
      memory.activations = std::max(memory.activations, forward);
    }
  }
  const auto judges = judging_models(config);
  for (size_t i = 0; i < models.judges.size(); ++i)
    if (models.judges[i] && lives(*judges[i].worker)) memory.weights += judging_bytes(config, models, i, device);
  if (lives(config.actor_infer)) add_sampler(memory, config, models.policy, on_gpu, rank);
  return memory;
}

std::string memory_text(const MemoryEstimate& memory) {
  const auto gb = [](double bytes) {
    return fmt::format("{:.{}f}", bytes / 1e9, bytes < 1e9 ? 3 : bytes < 1e10 ? 2 : 1);
  };
  std::string text = fmt::format("weights {}", gb(memory.weights - memory.gathered));
  if (memory.gathered > 0) text += fmt::format(" (layers gathered one by one, {} between updates)", gb(memory.weights));
  if (memory.activations > 0)
    text += fmt::format(" + gradients {} + optimizer {} + {} {} = {}", gb(memory.gradients), gb(memory.optimizer),
                        memory.visiting > memory.activations ? "a reference's forward" : "activations",
                        gb(std::max(memory.activations, memory.visiting)), gb(memory.training()));
  text += " GB";
  if (memory.kv_cache > 0)
    text += fmt::format("; in sampling {}, of these KV cache {} at most", gb(memory.sampling()), gb(memory.kv_cache));
  if (memory.checkpoint > 0)
    text += fmt::format("; {} of host memory for the copy of a checkpoint", gb(memory.checkpoint));
  return text;
}

}  // namespace roll
