#include "preview/step_routes.h"

#include <algorithm>
#include <numeric>

#include "train/advantage_stage.h"

namespace roll {

namespace {

constexpr int64_t kColumn_bytes = 4;  // of a token

}  // namespace

Distribution sampled_by(const RoleView& sampler, int64_t num_ranks, const ThinStep& step) {
  Distribution holders;
  for (int rank = 0; rank < num_ranks; ++rank) holders.ranks.push_back({rank});
  holders.shares.resize(num_ranks);
  const int64_t tp = sampler.shape().tp, num_samplers = std::ssize(sampler.ranks()) / tp;
  for (int64_t s = 0; s < step.num_sequences(); ++s)
    holders.shares[sampler.ranks()[s / step.group_size % num_samplers * tp]].push_back(s);
  return holders;
}

int64_t completed_columns(const Config& config) {
  const ForwardNeeds needs = forward_needs(config);
  const int64_t always = 7;  // ids, sampler's log-probs, token rewards, advantages, returns, two masks
  return always + needs.old_log_probs + needs.ref_log_probs + needs.values +
         config.experience.train_infer_correction.is_weight.enabled;
}

Travellers all_travellers(const SimulatedWorld& world) {
  Travellers all;
  for (int rank = 0; rank < world.num_planned(); ++rank) {
    all.ranks.push_back(rank);
    all.groups.push_back(world_group(world, rank));
  }
  return all;
}

Travellers travellers_of(const RoleView& role) {
  Travellers all;
  for (int64_t i = 0; i < std::ssize(role.ranks()); ++i) {
    all.ranks.push_back(role.ranks()[i]);
    all.groups.push_back(role.all(i));
  }
  return all;
}

void StepRoutes::add_number(const std::string& phase, const Travellers& ranks) const {
  for (size_t i = 0; i < ranks.ranks.size(); ++i)
    PhaseTraffic(forecast_, ranks.ranks[i], phase).all_reduce(ranks.groups[i], Path::kHost, 1, kNumberBytes);
}

void StepRoutes::add_columns(const std::string& phase, const Travellers& ranks, const Distribution& from,
                             const Distribution& to, int64_t columns) const {
  if (world_.path == Path::kDevice) add_number(phase, ranks);  // where everybody's tensors are
  const std::string key = fmt::format("{}/{}/all_to_all", phase, ranks.groups.front().name);
  for (const RoutePlan::Message& message : RoutePlan(lengths_, from, to).messages()) {
    const int64_t bytes = message.tokens * columns * kColumn_bytes;
    const bool is_far = world_.host_of(message.from) != world_.host_of(message.to);
    forecast_.add_sent(message.from, key, message_flow(bytes, is_far), bytes);
    forecast_.add_received(message.to, key, message_flow(bytes, is_far));
  }
}

void StepRoutes::add_step(const std::string& phase, const Travellers& ranks, const Distribution& from,
                          const Distribution& to, int64_t columns) const {
  if (from == to) return;
  add_number(phase, ranks);
  add_columns(phase, ranks, from, to, columns);
}

}  // namespace roll
