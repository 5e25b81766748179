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
#include "settings/training_plan.h"

namespace roll {

namespace {

/// Returns the first tensor rank's shard of a parameter; no shard is larger.
FlatParameter largest_shard(const ParameterShape& parameter, int64_t tp) {
  return flat_shard(parameter, 0, tp);
}

double shard_numel(const ParameterShape& parameter, int64_t tp) {
  return static_cast<double>(largest_shard(parameter, tp).numel);
}

/// Returns the bytes of a frozen parameter; `bytes` per element, unless it is quantised.
double frozen_bytes(const ParameterShape& parameter, int64_t tp, double bytes) {
  if (!parameter.quantised) return (parameter.is_wide ? std::max(bytes, 4.0) : bytes) * shard_numel(parameter, tp);
  const std::vector<ParameterShape> stored = stored_shapes(parameter);
  return shard_numel(stored[0], tp) + 4 * shard_numel(stored[1], tp);
}

/// Pipeline stage of a role's model on a rank.
struct RoleStage {
  StageSplit split{};
  int64_t index = 0;

  bool is_last() const { return index == split.num_stages() - 1; }
  bool has(const ParameterShape& p) const {
    return split.layer_stage(p.layer) == index || (p.is_at_both_ends && is_last());
  }
  std::vector<ParameterShape> select(const std::vector<ParameterShape>& parameters) const {
    std::vector<ParameterShape> selected;
    std::ranges::copy_if(parameters, std::back_inserter(selected), [this](const ParameterShape& p) { return has(p); });
    return selected;
  }
  /// Layers of the stage; empty: all layers.
  std::vector<int64_t> layers() const {
    return split.num_stages() == 1 ? std::vector<int64_t>() : split.stage_layers(index);
  }
};

RoleStage stage_on(int rank, const WorkerConfig& worker, const ModelSpec& spec) {
  const auto split = try_stage_split(worker.strategy_args.strategy_config, spec.num_layers);
  if (!std::holds_alternative<StageSplit>(split)) return {};
  return {std::get<StageSplit>(split), mesh_place(*rank_in_role(rank, worker), mesh_shape(worker)).pp};
}

/// Returns the bytes of the policy's weights without adapters. `is_dense`: as if they were not quantised.
double policy_bytes(const ModelSpec& spec, int64_t tp, double bytes, bool is_dense = false, int64_t ep = 1,
                    const RoleStage& stage = {}) {
  double total = 0;
  const auto parameters = shared_policy_parameters(spec);
  for (const ParameterShape& parameter : *parameters) {
    if (parameter.is_adapter || !stage.has(parameter) || (parameter.expert && parameter.expert->owner(ep) != 0))
      continue;
    total += is_dense ? bytes * shard_numel(parameter, tp) : frozen_bytes(parameter, tp, bytes);
  }
  return total;
}

/// Returns the number of elements of the layers' matrices.
double layer_numel(const ModelSpec& spec, int64_t tp) {
  double numel = 0;
  const auto parameters = backbone_parameters(spec);
  for (const auto& parameter : std::span(parameters).subspan(1))  // the first one is the embedding
    if (!parameter.is_adapter && parameter.shape.size() == 2) numel += shard_numel(parameter, tp);
  return numel;
}

int64_t tensor_ranks(const WorkerConfig& worker) {
  return worker.strategy_args.strategy_config.tensor_parallel();
}

/// Subtracts the memory that gathering layers saves in an update: at a time, only two layers' weights and one layer's
/// gradients are whole.
void subtract_gathered_layers(MemoryEstimate& memory, const WorkerConfig& worker,
                              const std::vector<ParameterShape>& parameters, double bytes) {
  const auto holders = static_cast<double>(worker.ranks.size()) / static_cast<double>(tensor_ranks(worker));
  if (!worker.gathers_layers()) return;
  std::map<int64_t, double> layers;  // elements of recomputed layers; others stay whole until their backward
  for (const ParameterShape& parameter : parameters) {
    const FlatParameter shard = largest_shard(parameter, tensor_ranks(worker));
    const int64_t layer = parameter.is_mtp ? -1 : layer_number(parameter.name);
    if (layer >= 0 && shard.is_matrix && shard.copies == 1 && layer < worker.recomputation().layers &&
        !is_frozen(parameter.name, worker.model_args.freeze_module_prefix))
      layers[layer] += static_cast<double>(shard.numel);
  }
  double total = 0, largest = 0;
  for (const auto& [layer, numel] : layers) {
    total += numel;
    largest = std::max(largest, numel);
  }
  const double absent = total * (1 - 1 / holders);
  memory.gathered += std::max(0.0, absent - 2 * largest) * bytes;
  memory.gradients -= std::max(0.0, absent - largest) * 4;
}

void add_trained(MemoryEstimate& memory, const WorkerConfig& worker, const std::vector<ParameterShape>& parameters,
                 at::ScalarType dtype) {
  const auto bytes = static_cast<double>(c10::elementSize(dtype));
  const bool has_adapters = std::ranges::any_of(parameters, &ParameterShape::is_adapter);  // adapters are float32
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
  Trained shared_by_all, expert_group;  // sharded over all ranks; over ranks with the same experts
  for (const auto& parameter : held_by(parameters, 0, ep)) {
    FlatParameter shard = largest_shard(parameter, tp);
    shard.uses_muon = worker.training_args.uses_muon() && parameter.is_projection;
    if (pp > 1 && parameter.is_at_both_ends) shard.copies *= 2;
    const bool is_base = has_adapters && !parameter.is_adapter;
    if (is_base || parameter.is_constant || is_frozen(parameter.name, worker.model_args.freeze_module_prefix)) {
      memory.weights += frozen_bytes(parameter, tp, bytes);
    } else {
      Trained& group = ep > 1 && parameter.expert ? expert_group : shared_by_all;
      group.parameters.push_back(shard);
      group.numel += shard.numel;
    }
  }
  for (const Trained* group : {&shared_by_all, &expert_group}) {
    if (group->parameters.empty()) continue;
    const int64_t shards = !shares ? 1 : group == &expert_group ? holders / ep : holders;
    const FlatLayout layout = plan_flat_layout(group->parameters, shards, bucket_elements_for(group->numel));
    const auto numel = static_cast<double>(layout.total), has_two_moments = static_cast<double>(layout.muon_begin());
    memory.weights += (has_adapters ? 4 : bytes) * numel;
    memory.gradients += 4 * numel;
    memory.optimizer += (4 * has_two_moments + (4 + master) * numel) / static_cast<double>(shards);
  }
  subtract_gathered_layers(memory, worker, parameters, bytes);
}

/// Returns the bytes that Muon's update takes: some copies of the largest matrix, and a rank's share of the matrices if
/// tensor ranks put them together.
double muon_bytes(const WorkerConfig& worker, const std::vector<ParameterShape>& parameters) {
  double largest = 0, all = 0;
  for (const ParameterShape& parameter : parameters) {
    if (!worker.training_args.uses_muon() || !parameter.is_projection) continue;
    largest = std::max(largest, static_cast<double>(largest_shard(parameter, 1).numel));
    all += shard_numel(parameter, tensor_ranks(worker));
  }
  const int64_t tp = tensor_ranks(worker), pp = worker.strategy_args.strategy_config.pipeline_parallel();
  const double shared = tp > 1 ? all * static_cast<double>(tp * pp) / static_cast<double>(worker.ranks.size()) : 0;
  return 4 * (4 * largest + shared);
}

/// Returns the activation rule of a role's largest micro-batch, in training or in a forward pass.
ActivationRule activation_rule(const Config& config, const WorkerConfig& worker, const ModelSpec& spec, bool on_gpu,
                               bool trains) {
  const StrategyConfig& layout = worker.strategy_args.strategy_config;
  const auto [tokens, whole] = full_micro_batch(config, worker, make_workload(spec), trains);
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

double training_bytes(const Config& config, const PlannedUpdate& update, const ModelSpec& spec, const RoleStage& stage,
                      bool on_gpu) {
  ActivationRule rule = activation_rule(config, *update.worker, spec, on_gpu, /*trains=*/true);
  rule.recomputation = update.worker->recomputation();
  rule.has_lm_head = update.has_lm_head && stage.is_last();
  rule.layers = stage.layers();
  rule.in_flight = max_in_flight(stage.index, {stage.split.num_stages(), stage.split.num_chunks()});
  return training_activation_bytes(spec, rule);
}

double forward_bytes(const Config& config, const PlannedPass& pass, const ModelSpec& spec, const RoleStage& stage,
                     bool on_gpu) {
  ActivationRule rule = activation_rule(config, *pass.worker, spec, on_gpu, /*trains=*/false);
  rule.has_lm_head = pass.has_lm_head() && stage.is_last();
  rule.layers = stage.layers();
  return forward_activation_bytes(spec, rule);
}

double kv_bytes(const Config& config, const ModelSpec& spec, double bytes) {
  const int64_t tp = tensor_ranks(config.actor_infer);
  const int64_t groups = std::max<int64_t>(1, std::ssize(config.actor_infer.ranks) / tp);
  const int64_t sequences = (config.most_prompts() * config.samples_per_prompt() + groups - 1) / groups;
  const auto running = static_cast<double>(std::min(sequences, config.max_running_requests));
  const int64_t length = config.sequence_length.value_or(0);
  const LayerCost cost = layer_cost(spec.layers(), tp);
  double states = 0;  // per sequence
  if (cost.states > 0) {
    const int64_t page =
        cost.page_tokens(config.actor_infer.strategy_args.strategy_config.block_size, static_cast<int64_t>(bytes));
    const int64_t num_pages = (length + page - 1) / page;
    states = static_cast<double>(num_pages * cost.page_bytes(0, static_cast<int64_t>(bytes)));
  }
  return running * (static_cast<double>(length) * bytes * static_cast<double>(cost.cached) + states);
}

/// Returns true if both models have the same base folder; either may have adapters.
bool share_base(const WorkerConfig& a, const WorkerConfig& b) {
  const auto &one = a.model_args.model_name_or_path, &other = b.model_args.model_name_or_path;
  return one == other || (one && other && base_folder(*one) == base_folder(*other));
}

/// Returns true if the critic trains adapters on the actor's base (step/roles.cpp).
bool is_on_policy_base(const Config& config, const ModelSpec& policy, const ModelSpec& critic_spec) {
  const WorkerConfig &critic = config.critic, &actor = config.actor_train;
  return policy.lora && critic_spec.lora && policy.quantised == critic_spec.quantised && critic.ranks == actor.ranks &&
         mesh_shape(critic) == mesh_shape(actor) && critic.model_args.dtype == actor.model_args.dtype &&
         share_base(critic, actor);
}

/// Returns true if the reference is the actor without its adapters (step/roles.cpp).
bool is_policy_base(const WorkerConfig& reference, const ModelSpec& reference_spec, const WorkerConfig& actor,
                    const ModelSpec& policy) {
  return policy.lora && !reference_spec.lora && reference.ranks == actor.ranks &&
         mesh_shape(reference) == mesh_shape(actor) && reference.model_args.dtype == actor.model_args.dtype &&
         share_base(reference, actor);
}

/// Returns true if the judging model shares the actor's frozen base (Roles::base_for).
bool is_on_policy_base(const Config& config, const ModelSpec& policy, const JudgingModel& judge, const ModelSpec& spec,
                       at::DeviceType device) {
  const WorkerConfig& actor = config.actor_train;
  MeshShape shape = mesh_shape(*judge.worker);
  if (judge.writes()) shape = {.tp = shape.tp};
  return policy.lora && !policy.quantised && (judge.writes() || spec.lora) && judge.worker->ranks == actor.ranks &&
         shape == mesh_shape(actor) &&
         model_dtype(judge.worker->model_args, device) == model_dtype(actor.model_args, device) &&
         share_base(*judge.worker, actor);
}

double judging_bytes(const Config& config, const ModelSpec& policy, const JudgingModel& judge, const ModelSpec& spec,
                     at::DeviceType device) {
  std::vector<ParameterShape> parameters = judge.writes() ? policy_parameters(spec) : critic_parameters(spec);
  if (is_on_policy_base(config, policy, judge, spec, device))
    parameters = spec.lora ? select_trained(spec, parameters) : std::vector<ParameterShape>();
  double total = 0;
  for (const ParameterShape& parameter : parameters)
    total += static_cast<double>(parameter.is_adapter ? 4 : bytes_per_number(judge.worker->model_args, device)) *
             static_cast<double>(largest_shard(parameter, tensor_ranks(*judge.worker)).numel);
  return total;
}

/// Adds the sampler, which has the trainer's dtype.
void add_sampler(MemoryEstimate& memory, const Config& config, ModelSpec spec, bool on_gpu, int rank) {
  spec.trains_mtp = false;  // only the trainer has the head
  const auto bytes =
      static_cast<double>(bytes_per_number(config.actor_train.model_args, on_gpu ? at::kCUDA : at::kCPU));
  const int64_t tp = tensor_ranks(config.actor_infer);
  if (!config.trains() || !shares_weights(config, rank)) memory.weights += policy_bytes(spec, tp, bytes);
  // CPU sampling reads a repacked copy of the weights.
  const double packed = sampled_weight_bytes(config.actor_infer.model_args.weight_bits(), bytes);
  if (!on_gpu) memory.weights += policy_bytes(spec, tp, packed, /*is_dense=*/true);
  if (on_gpu && spec.lora) memory.merged = bytes * layer_numel(spec, tp);
  memory.kv_cache = kv_bytes(config, spec, bytes);
}

/// Adds up the memory of one rank, role by role.
class RankMemory {
 public:
  RankMemory(const Config& config, const RoleShapes& models, bool on_gpu, int rank)
      : config_(config),
        models_(models),
        plan_(plan_training(config)),
        policy_(policy_shape(models)),
        on_gpu_(on_gpu),
        device_(on_gpu ? at::kCUDA : at::kCPU),
        rank_(rank) {}

  MemoryEstimate estimate() {
    for (const PlannedUpdate& update : plan_.updates)
      if (has_role(*update.worker) && models_.contains(update.role)) add_trained_role(update);
    for (const PlannedPass& pass : plan_.passes)
      if (has_role(*pass.worker) && (pass.finding == Finding::kReference || pass.finding == Finding::kTeacher))
        add_frozen_role(pass);
    for (const JudgingModel& judge : judging_models(config_))
      if (const auto found = models_.find(judge.role); found != models_.end() && has_role(*judge.worker))
        memory_.weights += judging_bytes(config_, policy_, judge, found->second, device_);
    if (has_role(config_.actor_infer)) add_sampler(memory_, config_, policy_, on_gpu_, rank_);
    return memory_;
  }

 private:
  bool has_role(const WorkerConfig& worker) const { return std::ranges::binary_search(worker.ranks, rank_); }
  bool offloads() const { return config_.offload && on_gpu_; }
  double element_bytes(const WorkerConfig& worker) const {
    return static_cast<double>(bytes_per_number(worker.model_args, device_));
  }
  void raise_activations(double activations) { memory_.activations = std::max(memory_.activations, activations); }

  void add_trained_role(const PlannedUpdate& update) {
    const WorkerConfig& worker = *update.worker;
    const ModelSpec& spec = models_.at(update.role);
    const bool gives_values = !update.has_lm_head;
    const std::vector<ParameterShape> parameters =
        gives_values ? critic_parameters(spec) : *shared_policy_parameters(spec);
    const MemoryEstimate before = memory_;
    const RoleStage stage = stage_on(rank_, worker, spec);
    std::vector<ParameterShape> held = stage.select(parameters);
    if (gives_values && is_on_policy_base(config_, policy_, spec)) held = select_trained(spec, std::move(held));
    add_trained(memory_, worker, held, model_dtype(worker.model_args, device_));
    if (offloads()) {
      memory_.offloaded += memory_.gradients + memory_.optimizer - before.gradients - before.optimizer;
      if (update.role != kPolicyRole) memory_.offloaded += memory_.weights - before.weights;
    }
    raise_activations(training_bytes(config_, update, spec, stage, on_gpu_));
    raise_activations(muon_bytes(worker, held));
    if (const PlannedPass* pass = plan_.find_pass(worker))
      raise_activations(forward_bytes(config_, *pass, spec, stage, on_gpu_));
    memory_.checkpoint += memory_.optimizer - before.optimizer;
    if (rank_ != worker.ranks.front()) return;
    for (const auto& parameter : select_trained(spec, parameters))
      memory_.checkpoint +=
          (parameter.is_adapter ? 4 : element_bytes(worker)) * static_cast<double>(largest_shard(parameter, 1).numel);
  }

  void add_frozen_role(const PlannedPass& pass) {
    const WorkerConfig& worker = *pass.worker;
    const ModelSpec spec = shape_of_role(models_, pass.role);
    const RoleStage stage = stage_on(rank_, worker, spec);
    const double weights = is_policy_base(worker, spec, config_.actor_train, policy_)
                               ? 0
                               : policy_bytes(spec, tensor_ranks(worker), element_bytes(worker), /*is_dense=*/false,
                                              worker.strategy_args.strategy_config.expert_parallel(), stage);
    const double forward = forward_bytes(config_, pass, spec, stage, on_gpu_);
    if (offloads()) {
      memory_.loaded_reference = std::max(memory_.loaded_reference, weights + forward);
    } else {
      memory_.weights += weights;
      raise_activations(forward);
    }
  }

  const Config& config_;
  const RoleShapes& models_;
  const TrainingPlan plan_;
  const ModelSpec& policy_;
  const bool on_gpu_;
  const at::DeviceType device_;
  const int rank_;
  MemoryEstimate memory_;
};

}  // namespace

MemoryEstimate estimate_memory(const Config& config, const RoleShapes& models, bool on_gpu, int rank) {
  return RankMemory(config, models, on_gpu, rank).estimate();
}

std::string memory_text(const MemoryEstimate& memory) {
  const auto gb = [](double bytes) {
    return fmt::format("{:.{}f}", bytes / 1e9, bytes < 1e9 ? 3 : bytes < 1e10 ? 2 : 1);
  };
  std::string text = fmt::format("weights {}", gb(memory.weights - memory.gathered));
  if (memory.gathered > 0) text += fmt::format(" (layers gathered one by one, {} between updates)", gb(memory.weights));
  if (memory.activations > 0)
    text += fmt::format(" + gradients {} + optimizer {} + {} {} = {}", gb(memory.gradients), gb(memory.optimizer),
                        memory.loaded_reference > memory.activations ? "a reference's forward" : "activations",
                        gb(std::max(memory.activations, memory.loaded_reference)), gb(memory.training()));
  text += " GB";
  if (memory.kv_cache > 0)
    text += fmt::format("; in sampling {}, with a KV cache of at most {}", gb(memory.sampling()), gb(memory.kv_cache));
  if (memory.checkpoint > 0)
    text += fmt::format("; {} of host memory for the copy of a checkpoint", gb(memory.checkpoint));
  return text;
}

}  // namespace roll
