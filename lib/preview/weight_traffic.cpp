#include "preview/weight_traffic.h"

#include <algorithm>

#include "base/ranges.h"
#include "model/weight_transfer.h"
#include "settings/placement.h"
#include "train/roles.h"

namespace roll {

namespace {

/// The movers of the asked world, as one of them sees them.
Group movers_of(const SimulatedWorld& world, const std::vector<int>& movers, int planned_rank) {
  const auto at = [&](int64_t rank) { return std::ranges::lower_bound(movers, rank) - movers.begin(); };
  const int64_t size = std::ssize(movers), begin = world.host_of(planned_rank) * world.ranks_per_host;
  return {size == world.num_asked ? "world" : "ranks " + ranges_text(movers),
          {size, at(world.asked_rank[planned_rank])},
          at(begin + world.ranks_per_host) - at(begin) - 1};
}

/// How messages are cut, and what an element takes.
struct MessageShape {
  int64_t most_elements = 0, element = 0;
};

/// The sizes of the messages that carry blocks to one rank, each behind its sum.
std::vector<int64_t> message_bytes(const WeightBlocks& blocks, const MessageShape& shape) {
  std::vector<int64_t> sizes;
  for (const WeightBlocks& message : weight_messages(blocks, shape.most_elements)) {
    int64_t& bytes = sizes.emplace_back(kWeightSum_bytes);
    for (const WeightBlock& block : message) bytes += block.numel() * shape.element;
  }
  return sizes;
}

/// What a rank sends to others and gets from them. `is_far`: whether a mover is on another host.
template <class F>
void add_messages(PhaseTraffic& traffic, const Group& movers, const WeightMoves& moves, const MessageShape& shape,
                  const F& is_far) {
  for (const auto& [peer, blocks] : moves.sends)
    for (const int64_t bytes : message_bytes(blocks, shape)) traffic.send(movers, bytes, is_far(peer));
  for (const auto& [peer, blocks] : moves.receives)
    for (const int64_t bytes : message_bytes(blocks, shape)) traffic.receive(movers, bytes, is_far(peer));
}

}  // namespace

void add_weight_traffic(TrafficForecast& forecast, const SimulatedWorld& world, const RoleView& actor,
                        const RoleView& sampler, int64_t element) {
  if (shares_weights(world.asked)) return;
  const std::vector<int>&trainers = world.asked.actor_train.ranks, &samplers = world.asked.actor_infer.ranks;
  const std::vector<int> movers = mover_ranks(trainers, samplers);
  const WeightSchedule schedule =
      policy_schedule(world.models.policy, {trainers, actor.shape().tp}, {samplers, sampler.shape().tp});
  std::map<int, WeightMoves> moves;  // by planned rank
  int64_t most_peers = 1;
  for (int rank = 0; rank < world.num_planned(); ++rank) {
    const auto found = std::ranges::lower_bound(movers, world.asked_rank[rank]);
    if (found == movers.end() || *found != world.asked_rank[rank]) continue;
    const WeightMoves& own = moves[rank] = schedule.of(static_cast<int>(found - movers.begin()));
    most_peers = std::max({most_peers, std::ssize(own.sends), std::ssize(own.receives)});
  }
  for (const auto& [rank, own] : moves) {
    const Group all = movers_of(world, movers, rank);
    PhaseTraffic traffic(forecast, rank, "model_update");
    const auto is_far = [&](int peer) { return world.host_of_asked(movers[peer]) != world.host_of(rank); };
    add_messages(traffic, all, own, {message_elements(most_peers), element}, is_far);
    // Checksums of what left and of what arrived.
    const auto trains = actor.index_of(rank), samples = sampler.index_of(rank);
    if (trains) traffic.all_reduce(actor.tp(*trains), Path::kHost, 1, kNumberBytes);
    traffic.all_reduce(all, Path::kHost, 1, kNumberBytes);
    if (samples && !shares_weights(world.asked, world.asked_rank[rank]))
      traffic.all_reduce(sampler.tp(*samples), Path::kHost, 1, kNumberBytes);
  }
}

}  // namespace roll
