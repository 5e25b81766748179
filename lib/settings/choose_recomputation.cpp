#include "settings/choose_recomputation.h"

#include <fmt/format.h>

#include <algorithm>

#include "settings/batch_plan.h"
#include "settings/placement.h"
#include "settings/training_plan.h"

namespace roll {

namespace {

/// Returns the bytes of training, with the estimate's error and the memory of the program itself.
double bytes_for_training(const MemoryEstimate& memory, bool on_gpu) {
  const double error = 0.1 * std::max(memory.activations, memory.loaded_reference);
  return memory.training() + error + (on_gpu ? 1e9 : memory.checkpoint + kProgramOnCpu);
}

bool chooses(const WorkerConfig& worker) {
  return worker.recomputes() && worker.strategy_args.strategy_config.recompute_method == RecomputeMethod::kAuto;
}

/// A trained role with recompute_method: auto.
struct ChoosingRole {
  std::string name;
  WorkerConfig& worker;
  int64_t num_layers;
};

std::vector<ChoosingRole> choosing_roles(Config& config, const RoleShapes& models) {
  std::vector<ChoosingRole> roles;
  const TrainingPlan plan = plan_training(config);
  for (const auto& [name, worker] : learning_roles(config)) {
    const bool is_trained = std::ranges::find(plan.updates, worker, &PlannedUpdate::worker) != plan.updates.end();
    if (is_trained && chooses(*worker) && models.contains(name))
      roles.push_back({name, *worker, models.at(name).num_layers});
  }
  return roles;
}

/// Returns the configuration with automatic prompt sharing off: auto shares nothing if most prompts of a step are
/// short, and even then some may be long.
Config without_sharing(Config config) {
  const auto disable_sharing = [](WorkerConfig& worker) {
    if (worker.packing.share_prompts == SharePrompts::kAuto) worker.packing.share_prompts = SharePrompts::kFalse;
  };
  for (const TrainableRole& row : trainable_roles()) disable_sharing(config.*row.worker);
  disable_sharing(config.reference);
  return config;
}

/// Returns the bytes of the rank that needs most, with `layers` recomputed layers of the role, and with all layers of
/// roles that are still undecided.
double bytes_with(int64_t layers, const ChoosingRole& role, const Config& config, const RoleShapes& models,
                  bool on_gpu) {
  StrategyConfig& strategy = role.worker.strategy_args.strategy_config;
  strategy.recompute_method = RecomputeMethod::kBlock;
  strategy.recompute_num_layers = layers;
  const Config fullest = without_sharing(config);
  double most = 0;
  for (const RankClass& rank_class : rank_classes(config))
    if (std::ranges::binary_search(role.worker.ranks, rank_class.ranks.front()))
      most = std::max(most,
                      bytes_for_training(estimate_memory(fullest, models, on_gpu, rank_class.ranks.front()), on_gpu));
  return most;
}

/// Returns a run in which the fine-tuned model is the only role that trains.
Config as_pipeline(const RowConfig& config) {
  Config pipeline;
  pipeline.actor_train = config.trained;
  pipeline.actor_infer.ranks.clear();
  pipeline.sequence_length = config.sequence_length;
  pipeline.num_return_sequences_in_group = 1;
  return pipeline;
}

/// Returns the same run with a frozen model as reference.
Config as_pipeline(const RowConfig& config, const WorkerConfig& frozen) {
  Config pipeline = as_pipeline(config);
  pipeline.enable_reference = true;
  pipeline.reference = frozen;
  return pipeline;
}

std::vector<std::string> choose_in(Config pipeline, RowConfig& config, const RoleShapes& models, bool on_gpu,
                                   double bytes) {
  const auto lines = choose_recomputation(pipeline, models, on_gpu, bytes);
  config.trained.strategy_args = pipeline.actor_train.strategy_args;
  return lines;
}

}  // namespace

bool chooses_recomputation(const Config& config) {
  return std::ranges::any_of(plan_training(config).updates, chooses,
                             [](const PlannedUpdate& update) -> const WorkerConfig& { return *update.worker; });
}

bool chooses_recomputation(const RowConfig& config) {
  return chooses(config.trained);
}

std::vector<std::string> choose_recomputation(Config& config, const RoleShapes& models, bool on_gpu, double bytes) {
  std::vector<std::string> lines;
  for (const ChoosingRole& role : choosing_roles(config, models)) {
    int64_t layers = 0, most = role.num_layers;
    while (layers < most) {  // binary search: more recomputed layers need less memory
      const int64_t middle = (layers + most) / 2;
      if (bytes_with(middle, role, config, models, on_gpu) > bytes)
        layers = middle + 1;
      else
        most = middle;
    }
    const double needed = bytes_with(layers, role, config, models, on_gpu);
    lines.push_back(fmt::format("{}: backward recomputes {} of {} layers, so training needs {:.3g} of {:.3g} GB{}",
                                role.name, layers, role.num_layers, needed / 1e9, bytes / 1e9,
                                needed > bytes ? ", more than is available" : ""));
  }
  return lines;
}

std::vector<std::string> choose_recomputation(RowConfig& config, const RoleShapes& models, bool on_gpu, double bytes) {
  return choose_in(as_pipeline(config), config, models, on_gpu, bytes);
}

std::vector<std::string> choose_recomputation(DpoConfig& config, const RoleShapes& models, bool on_gpu, double bytes) {
  Config pipeline = as_pipeline(config, config.reference);
  TrainingArgs& batch = pipeline.actor_train.training_args;  // counts pairs
  batch.per_device_train_batch_size *= 2;
  if (batch.train_batch_size) *batch.train_batch_size *= 2;
  return choose_in(std::move(pipeline), config, models, on_gpu, bytes);
}

std::vector<std::string> choose_recomputation(DistillConfig& config, const RoleShapes& models, bool on_gpu,
                                              double bytes) {
  return choose_in(as_pipeline(config, config.teacher), config, models, on_gpu, bytes);
}

std::vector<std::string> recomputation_text(const Config& config, const RoleShapes& models, bool on_gpu) {
  std::vector<std::string> lines;
  Config trial = config;
  for (const ChoosingRole& role : choosing_roles(trial, models)) {
    const auto gb = [&](int64_t layers) { return bytes_with(layers, role, trial, models, on_gpu) / 1e9; };
    lines.push_back(fmt::format(
        "{}: recompute_method = auto: training needs {:.3g} GB with no layer recomputed, {:.3g} GB with all {}",
        role.name, gb(0), gb(role.num_layers), role.num_layers));
  }
  return lines;
}

}  // namespace roll
