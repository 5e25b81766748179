#include "settings/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/ranges.h"
#include "pipeline/split_rule.h"
#include "settings/training_plan.h"

namespace roll {

namespace {

/// Returns the ranks of `mapping`'s devices: their indices in `devices`, ascending.
std::vector<int> mapped_ranks(const DeviceMapping& mapping, const std::vector<int64_t>& devices) {
  std::vector<int> ranks;
  for (const int64_t device : mapping.devices)
    ranks.push_back(static_cast<int>(std::ranges::lower_bound(devices, device) - devices.begin()));
  std::ranges::sort(ranks);
  return ranks;
}

/// Returns " (stage 1 of 4)" for the worker's rank with this index; "" without a pipeline.
std::string stage_text(const WorkerConfig& worker, int64_t index) {
  const MeshShape shape = mesh_shape(worker);
  return shape.pp == 1 ? "" : fmt::format(" (stage {} of {})", mesh_place(index, shape).pp + 1, shape.pp);
}

template <class Worker, class C>
std::vector<Placed<Worker>> collect_references(C& config) {
  std::vector<Placed<Worker>> roles;
  if (config.uses_reference()) roles.push_back({kReferenceRole, &config.reference});
  if (config.distils())
    for (auto& [name, teacher] : config.teacher)
      roles.push_back({name == "default" ? "teacher" : "teacher." + name, &teacher.model});
  return roles;
}

template <class Worker, class C>
std::vector<Placed<Worker>> collect_trained_roles(C& config) {
  std::vector<Placed<Worker>> roles;
  for (const TrainableRole& row : trainable_roles())
    if ((config.*row.is_used)()) roles.push_back({row.role, &(config.*row.worker)});
  return roles;
}

template <class Worker, class C>
std::vector<Placed<Worker>> collect_learning_roles(C& config) {
  std::vector<Placed<Worker>> roles = collect_trained_roles<Worker>(config);
  const auto references = collect_references<Worker>(config);
  roles.insert(roles.begin() + (roles.empty() ? 0 : 1), references.begin(), references.end());
  return roles;
}

template <class Worker, class C>
std::vector<Placed<Worker>> collect_roles(C& config) {
  std::vector<Placed<Worker>> roles = collect_learning_roles<Worker>(config);
  roles.insert(roles.begin() + (config.trains() ? 1 : 0), {"actor_infer", &config.actor_infer});
  bool is_shared = false;
  for (auto& [domain, worker] : config.rewards) {
    if (worker.has_own_model()) roles.push_back({"rewards." + domain, &worker.model});
    is_shared = is_shared || worker.shares_model();
  }
  if (is_shared) roles.push_back({"reward_model", &config.reward_model});
  return roles;
}

}  // namespace

std::vector<PlacedRole> placed_roles(Config& config) {
  return collect_roles<WorkerConfig>(config);
}
std::vector<Placed<const WorkerConfig>> placed_roles(const Config& config) {
  return collect_roles<const WorkerConfig>(config);
}

std::vector<PlacedRole> trained_roles(Config& config) {
  return collect_trained_roles<WorkerConfig>(config);
}
std::vector<Placed<const WorkerConfig>> trained_roles(const Config& config) {
  return collect_trained_roles<const WorkerConfig>(config);
}

std::vector<PlacedRole> learning_roles(Config& config) {
  return collect_learning_roles<WorkerConfig>(config);
}
std::vector<Placed<const WorkerConfig>> learning_roles(const Config& config) {
  return collect_learning_roles<const WorkerConfig>(config);
}
std::vector<Placed<const WorkerConfig>> reference_roles(const Config& config) {
  return collect_references<const WorkerConfig>(config);
}

std::vector<int64_t> used_devices(const std::vector<PlacedRole>& roles) {
  std::set<int64_t> devices;
  for (const PlacedRole& role : roles)
    if (role.worker->device_mapping)
      devices.insert(role.worker->device_mapping->devices.begin(), role.worker->device_mapping->devices.end());
  return {devices.begin(), devices.end()};
}

MeshShape mesh_shape(const WorkerConfig& worker) {
  const StrategyConfig& sizes = worker.strategy_args.strategy_config;
  return {.cp = sizes.context_parallel(),
          .tp = sizes.tensor_parallel(),
          .ep = sizes.expert_parallel(),
          .pp = sizes.pipeline_parallel(),
          .ring = num_chunks(sizes) > 1};
}

std::optional<int64_t> rank_in_role(int rank, const WorkerConfig& worker) {
  const auto found = std::ranges::lower_bound(worker.ranks, rank);
  if (found == worker.ranks.end() || *found != rank) return std::nullopt;
  return found - worker.ranks.begin();
}

std::vector<int> all_ranks(int64_t num_ranks) {
  std::vector<int> ranks(static_cast<size_t>(num_ranks));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

void place_roles(const std::vector<PlacedRole>& roles, int64_t num_ranks) {
  const std::vector<int64_t> devices = used_devices(roles);
  const WorkerConfig* const first_worker = roles.front().worker;
  for (const auto& [name, worker] : roles)
    worker->ranks = worker->device_mapping   ? mapped_ranks(*worker->device_mapping, devices)
                    : worker == first_worker ? all_ranks(num_ranks)
                                             : first_worker->ranks;
}

void place_roles(Config& config, int64_t num_ranks) {
  place_roles(placed_roles(config), num_ranks);
  if (!config.trains()) config.actor_train.ranks = config.actor_infer.ranks;
}

bool shares_weights(const Config& config, int rank) {
  const std::vector<int>&trainer = config.actor_train.ranks, &sampler = config.actor_infer.ranks;
  const int64_t tp = config.actor_infer.strategy_args.strategy_config.tensor_parallel();
  const StrategyConfig& training = config.actor_train.strategy_args.strategy_config;
  if (tp != training.tensor_parallel() || training.expert_parallel() > 1 || training.pipeline_parallel() > 1)
    return false;
  const auto index = std::ranges::find(sampler, rank) - sampler.begin();
  if (index == std::ssize(sampler)) return false;
  const auto group = sampler.begin() + index / tp * tp;
  const auto found = std::ranges::find(trainer, *group);
  return found != trainer.end() && (found - trainer.begin()) % tp == 0 && std::equal(group, group + tp, found);
}

bool shares_weights(const Config& config) {
  return std::ranges::all_of(config.actor_infer.ranks, [&](int rank) { return shares_weights(config, rank); });
}

std::vector<int> learner_ranks(const Config& config) {
  const bool only_learning = config.samples_ahead();
  std::set<int> ranks(config.actor_train.ranks.begin(), config.actor_train.ranks.end());
  for (const auto& [name, worker] : only_learning ? learning_roles(config) : placed_roles(config))
    ranks.insert(worker->ranks.begin(), worker->ranks.end());
  return {ranks.begin(), ranks.end()};
}

std::vector<int> training_ranks(const Config& config) {
  std::set<int> ranks;
  for (const PlannedUpdate& update : plan_training(config).updates)
    ranks.insert(update.worker->ranks.begin(), update.worker->ranks.end());
  return {ranks.begin(), ranks.end()};
}

std::vector<RankClass> rank_classes(const Config& config) {
  std::map<int, std::vector<std::string>> roles;  // by rank
  for (const auto& [name, worker] : placed_roles(config))
    for (int64_t index = 0; index < std::ssize(worker->ranks); ++index)
      roles[worker->ranks[index]].push_back(name + stage_text(*worker, index));
  std::vector<RankClass> classes;
  for (const auto& [rank, names] : roles) {
    const auto found = std::ranges::find(classes, names, &RankClass::roles);
    if (found == classes.end())
      classes.push_back({{rank}, names});
    else
      found->ranks.push_back(rank);
  }
  return classes;
}

std::string placement_text(const Config& config) {
  const auto classes = rank_classes(config);
  std::string text;
  for (const auto& [ranks, roles] : classes)
    if (classes.size() > 1) text += fmt::format("ranks {}: {}\n", ranges_text(ranks), fmt::join(roles, ", "));
  return text;
}

}  // namespace roll
