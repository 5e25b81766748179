// On which ranks each role lives. A rank is a process with one device: rank r has the r-th of all devices that some
// role names, so devices that are numbered with holes, or from 8 on, make no ranks without work.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dist/mesh.h"
#include "settings/config.h"

namespace roll {

/// A role that has a model, by the name of its key: "actor_train", "rewards.llm_judge".
template <class Worker>
struct Placed {
  std::string name;
  Worker* worker;
};
using PlacedRole = Placed<WorkerConfig>;
/// Those that the configuration uses; they point into it.
std::vector<PlacedRole> placed_roles(Config& config);
std::vector<Placed<const WorkerConfig>> placed_roles(const Config& config);

/// Those that train, or compute what training needs: actor_train, then reference_roles(), then critic.
std::vector<PlacedRole> learning_roles(Config& config);
std::vector<Placed<const WorkerConfig>> learning_roles(const Config& config);

/// The frozen models whose log-probs a step wants: the reference, or the teachers, "teacher" a single one.
std::vector<Placed<const WorkerConfig>> reference_roles(const Config& config);

/// All devices that these roles name, ascending; empty: none names any.
std::vector<int64_t> devices_of(const std::vector<PlacedRole>& roles);

/// The layout that a worker's strategy asks for.
MeshShape mesh_shape(const WorkerConfig& worker);

/// Which of the role's ranks that one is; nothing where the role does not live there.
std::optional<int64_t> place_of(int rank, const WorkerConfig& worker);

/// 0, 1, ... num_ranks - 1.
std::vector<int> all_ranks(int64_t num_ranks);

/// Fills WorkerConfig::ranks of all roles for a run of `num_ranks`: those of device_mapping; without one those of
/// actor_train, and actor_train without one lives on all.
void place_roles(Config& config, int64_t num_ranks);

/// Of these roles alone, of which the first lives on all where it names no devices, and the others then where it lives.
void place_roles(const std::vector<PlacedRole>& roles, int64_t num_ranks);

/// Whether the sampler of a rank reads the trainer's tensors: the ranks with which it shares a model train as well, and
/// share one there in the same way.
bool shares_weights(const Config& config, int rank);
/// Whether all of the sampler's ranks do: no weights move then.
bool shares_weights(const Config& config);

/// The ranks that work on a step while others sample the next one: where sampling runs ahead, those of the roles that
/// train or compute log-probs and values; else all. Ascending.
std::vector<int> learner_ranks(const Config& config);

/// Those that hold a model that is trained. Ascending.
std::vector<int> training_ranks(const Config& config);

/// Ranks on which the same roles live, and the same stages of them.
struct RankClass {
  std::vector<int> ranks;
  std::vector<std::string> roles;
};
/// By their first ranks.
std::vector<RankClass> rank_classes(const Config& config);

/// "ranks 0 to 3: actor_train, reference", a line for each class; empty where there is but one.
std::string placement_text(const Config& config);

}  // namespace roll
