#include "preview/weight_traffic.h"

#include <algorithm>
#include <iterator>

#include "base/ranges.h"
#include "model/model_parameters.h"
#include "model/parameter_parts.h"
#include "optim/own_part.h"
#include "settings/placement.h"

namespace roll {

namespace {

/// Of a rank's part, padded to the widest: what gathering a whole tensor makes it send.
int64_t padded_part(const ModelSpec& spec, const ParameterShape& parameter, int64_t tp) {
  int64_t widest = 0, dim = -1;
  for (int64_t rank = 0; rank < tp; ++rank) {
    const TensorPart part = part_of(spec, parameter.cut, rank, tp);
    widest = std::max(widest, part.end - part.begin), dim = part.dim;
  }
  return dim < 0 ? 0 : own_part(spec, parameter, 0, 1).numel / parameter.shape[dim] * widest;
}

/// The ranks of both roles, of the asked world, as one of them sees them.
Group movers_of(const SimulatedWorld& world, const std::vector<int>& movers, int planned_rank) {
  const auto at = [&](int64_t rank) { return std::ranges::lower_bound(movers, rank) - movers.begin(); };
  const int64_t size = std::ssize(movers), begin = world.host_of(planned_rank) * world.ranks_per_host;
  return {size == world.num_asked ? "world" : "ranks " + ranges_text(movers),
          {size, at(world.asked_rank[planned_rank])},
          at(begin + world.ranks_per_host) - at(begin) - 1};
}

}  // namespace

void add_weight_traffic(TrafficForecast& forecast, const SimulatedWorld& world, const RoleView& actor,
                        const RoleView& sampler, int64_t element) {
  if (shares_weights(world.asked)) return;
  const std::vector<int>& trainers = world.asked.actor_train.ranks;
  std::vector<int> movers;
  std::ranges::set_union(trainers, world.asked.actor_infer.ranks, std::back_inserter(movers));
  const bool all_have_it = movers.size() == trainers.size();
  const auto root = std::ranges::lower_bound(movers, trainers.front()) - movers.begin();
  for (int rank = 0; rank < world.num_planned(); ++rank) {
    const auto trains = actor.index_of(rank), samples = sampler.index_of(rank);
    if (!trains && !samples) continue;
    const Group all = movers_of(world, movers, rank);
    PhaseTraffic traffic(forecast, rank, "model_update");
    traffic.all_reduce(all, Path::kHost, 1, kNumberBytes);
    for (const ParameterShape& parameter : policy_parameters(world.models.policy)) {
      if (trains)
        traffic.all_gather(actor.tp(*trains), world.path,
                           padded_part(world.models.policy, parameter, actor.shape().tp) * element);
      if (!all_have_it)
        traffic.broadcast(all, world.path, own_part(world.models.policy, parameter, 0, 1).numel * element, root);
    }
    // Checksums of what left and of what arrived.
    if (trains) traffic.all_reduce(actor.tp(*trains), Path::kHost, 1, kNumberBytes);
    if (!all_have_it) traffic.all_reduce(all, Path::kHost, 1, kNumberBytes);
    if (samples) traffic.all_reduce(sampler.tp(*samples), Path::kHost, 1, kNumberBytes);
  }
}

}  // namespace roll
