// Decides which ranks hold each role, that is, its model. A rank is a process with one device: rank r has the r-th of
// all devices that the roles' device_mapping keys name, so gaps in the device numbers make no idle ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dist/mesh.h"
#include "settings/config.h"

namespace roll {

/// A role with a model.
template <class Worker>
struct Placed {
  std::string name;  // the role's key: "actor_train", "rewards.llm_judge"
  Worker* worker;    // points into the configuration
};
using PlacedRole = Placed<WorkerConfig>;
/// Return all roles that the run uses.
std::vector<PlacedRole> placed_roles(Config& config);
std::vector<Placed<const WorkerConfig>> placed_roles(const Config& config);

/// Return the roles that train or compute log-probs or values: actor_train, then reference_roles(), then critic. Empty
/// if nothing is trained.
std::vector<PlacedRole> learning_roles(Config& config);
std::vector<Placed<const WorkerConfig>> learning_roles(const Config& config);

/// Return the roles that are trained: actor_train, then critic if it is used.
std::vector<PlacedRole> trained_roles(Config& config);
std::vector<Placed<const WorkerConfig>> trained_roles(const Config& config);

/// Returns the frozen models whose log-probs a step needs: the reference, or the teachers ("teacher" for a single one).
std::vector<Placed<const WorkerConfig>> reference_roles(const Config& config);

/// Returns all devices that the roles name, ascending; empty if none names any.
std::vector<int64_t> used_devices(const std::vector<PlacedRole>& roles);

/// Returns the parallel layout of a worker's strategy.
MeshShape mesh_shape(const WorkerConfig& worker);

/// Returns the index of the global rank `rank` in worker.ranks; nullopt if the rank does not hold the role.
std::optional<int64_t> rank_in_role(int rank, const WorkerConfig& worker);

/// Returns 0, 1, ... num_ranks - 1.
std::vector<int> all_ranks(int64_t num_ranks);

/// Fills WorkerConfig::ranks of all roles that the run uses with the ranks of the role's device_mapping. A role without
/// one gets the ranks of the first role, actor_train; actor_train without one gets all `num_ranks` ranks. If nothing is
/// trained, actor_infer is the first role, and actor_train gets the same ranks.
void place_roles(Config& config, int64_t num_ranks);

/// Fills WorkerConfig::ranks of these roles only, by the same rule; roles.front() is the first role.
void place_roles(const std::vector<PlacedRole>& roles, int64_t num_ranks);

/// Returns true if the sampler on `rank` reads the trainer's tensors instead of a copy: the ranks of its
/// tensor-parallel group are also one tensor-parallel group of actor_train, which has no pipeline and no expert
/// parallelism. False if `rank` does not sample.
bool shares_weights(const Config& config, int rank);
/// Returns true if all sampler ranks read the trainer's tensors, so that weight sync moves nothing.
bool shares_weights(const Config& config);

/// Returns the ranks that process a step's responses after sampling, ascending: with async rollout the ranks of
/// learning_roles(), else the ranks of all roles.
std::vector<int> learner_ranks(const Config& config);

/// Returns the ranks that hold a trained model, ascending.
std::vector<int> training_ranks(const Config& config);

/// Ranks that hold the same roles and the same pipeline stages.
struct RankClass {
  std::vector<int> ranks;          // ascending
  std::vector<std::string> roles;  // with the stage, if there are several: "actor_train (stage 1 of 4)"
};
/// Returns the rank classes, ordered by first rank. A rank without a role is in no class.
std::vector<RankClass> rank_classes(const Config& config);

/// Returns a line per rank class, such as "ranks 0 to 3: actor_train, reference"; "" if there is only one class.
std::string placement_text(const Config& config);

}  // namespace roll
