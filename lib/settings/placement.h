// Decides on which ranks each role lives. A rank is a process with one device: rank r has the r-th of all devices that
// roles name, so gaps in the numbering make no idle ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dist/mesh.h"
#include "settings/config.h"

namespace roll {

/// A role with a model, by its key: "actor_train", "rewards.llm_judge".
template <class Worker>
struct Placed {
  std::string name;
  Worker* worker;
};
using PlacedRole = Placed<WorkerConfig>;
/// Return the roles that the configuration uses; the pointers are into it.
std::vector<PlacedRole> placed_roles(Config& config);
std::vector<Placed<const WorkerConfig>> placed_roles(const Config& config);

/// Return the roles that train or compute log-probs or values: actor_train, then reference_roles(), then critic.
std::vector<PlacedRole> learning_roles(Config& config);
std::vector<Placed<const WorkerConfig>> learning_roles(const Config& config);

/// Return the roles that are trained, the policy first.
std::vector<PlacedRole> trained_roles(Config& config);
std::vector<Placed<const WorkerConfig>> trained_roles(const Config& config);

/// Returns the frozen models whose log-probs a step needs: the reference, or the teachers ("teacher" for a single one).
std::vector<Placed<const WorkerConfig>> reference_roles(const Config& config);

/// Returns all devices that the roles name, ascending; empty if none names any.
std::vector<int64_t> used_devices(const std::vector<PlacedRole>& roles);

/// Returns the parallel layout of a worker's strategy.
MeshShape mesh_shape(const WorkerConfig& worker);

/// Returns the index of `rank` in worker.ranks; nullopt if the role does not live there.
std::optional<int64_t> rank_in_role(int rank, const WorkerConfig& worker);

/// Returns 0, 1, ... num_ranks - 1.
std::vector<int> all_ranks(int64_t num_ranks);

/// Fills WorkerConfig::ranks of all roles: the ranks of device_mapping, or those of actor_train, which by default lives
/// on all `num_ranks`.
void place_roles(Config& config, int64_t num_ranks);

/// Fills WorkerConfig::ranks of these roles only. A role without device_mapping lives where the first one does; the
/// first lives on all ranks by default.
void place_roles(const std::vector<PlacedRole>& roles, int64_t num_ranks);

/// Returns true if the rank's sampler reads the trainer's tensors: the ranks that share a sampler model also train, and
/// form one tensor-parallel group there.
bool shares_weights(const Config& config, int rank);
/// Returns true if all sampler ranks read the trainer's tensors, so that weight sync moves nothing.
bool shares_weights(const Config& config);

/// Returns the ranks that work on a step's responses, ascending: with async rollout those of learning_roles(), else of
/// all roles.
std::vector<int> learner_ranks(const Config& config);

/// Returns the ranks that hold a trained model, ascending.
std::vector<int> training_ranks(const Config& config);

/// Ranks that hold the same roles and the same pipeline stages.
struct RankClass {
  std::vector<int> ranks;
  std::vector<std::string> roles;
};
/// Returns the rank classes, ordered by first rank.
std::vector<RankClass> rank_classes(const Config& config);

/// Returns "ranks 0 to 3: actor_train, reference", a line per class; empty if there is only one class.
std::string placement_text(const Config& config);

}  // namespace roll
