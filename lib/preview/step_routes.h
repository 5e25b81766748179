// How a step's sequences travel, by the routes that training takes (train/routes.h).
#pragma once

#include <string>
#include <vector>

#include "preview/simulated_world.h"
#include "preview/thin_step.h"
#include "train/routes.h"

namespace roll {

/// Who reads, or is taken to have sampled, which sequences: groups of responses in turn, as rollout_replay shares them
/// out; one rank each.
Distribution sampled_by(const RoleView& sampler, int64_t num_ranks, const ThinStep& step);

/// Columns of 4 bytes a token in which a step that is complete travels, ids included.
int64_t completed_columns(const Config& config);

/// The ranks among which sequences travel, and their group as each of them sees it.
struct Travellers {
  std::vector<int> ranks;  // planned
  std::vector<Group> groups;
};
Travellers all_travellers(const SimulatedWorld& world);
Travellers travellers_of(const RoleView& role);

/// Adds what it takes to bring a step from one distribution to another.
class StepRoutes {
 public:
  StepRoutes(TrafficForecast& forecast, const SimulatedWorld& world, std::vector<int64_t> lengths)
      : forecast_(forecast), world_(world), lengths_(std::move(lengths)) {}

  /// One all-to-all, as Routes::bring() makes. Both distributions name planned ranks.
  void add_columns(const std::string& phase, const Travellers& ranks, const Distribution& from, const Distribution& to,
                   int64_t columns) const;
  /// The same behind an agreement on columns, or nothing where all is there: bring().
  void add_step(const std::string& phase, const Travellers& ranks, const Distribution& from, const Distribution& to,
                int64_t columns) const;

 private:
  void add_number(const std::string& phase, const Travellers& ranks) const;

  TrafficForecast& forecast_;
  const SimulatedWorld& world_;
  std::vector<int64_t> lengths_;
};

}  // namespace roll
