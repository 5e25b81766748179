#include "forecast/running_ranks.h"

#include <algorithm>
#include <numeric>

#include "settings/placement.h"

namespace roll {

namespace {

/// At most so many ranks run, fewer if each has many tokens (about 1 us and 200 bytes per token).
constexpr int64_t kMostRunning = 32, kMostTokens = 4'000'000;

/// Adds the other stages of running ranks' pipelines, which these wait for. Repeats, because the added ranks may belong
/// to other roles' pipelines.
void add_other_stages(const Config& config, std::map<int, double>& running) {
  for (size_t before = 0; before != running.size();) {
    before = running.size();
    for (const auto& [name, worker] : placed_roles(config)) {
      const MeshShape shape = mesh_shape(*worker);
      for (const auto& [rank, count] : std::map(running)) {
        const auto index = rank_in_role(rank, *worker);
        if (!index) continue;
        const int64_t first = *index - mesh_place(*index, shape).pp * shape.stage_ranks();
        for (int64_t stage = 0; stage < shape.pp; ++stage)
          running.try_emplace(worker->ranks[first + stage * shape.stage_ranks()], 0);
      }
    }
  }
}

}  // namespace

int64_t tokens_per_rank(const Config& config, const ThinStep& step) {
  int64_t data_ranks = config.actor_train.data_ranks();
  for (const auto& [name, worker] : learning_roles(config)) data_ranks = std::min(data_ranks, worker->data_ranks());
  const std::vector<int64_t> lengths = step.lengths();
  return std::reduce(lengths.begin(), lengths.end()) / data_ranks;
}

std::map<int, double> running_ranks(const Config& config, int64_t num_ranks, const ThinStep& step) {
  const int64_t tokens = std::max<int64_t>(1, tokens_per_rank(config, step));
  const int64_t most_ranks = std::clamp<int64_t>(kMostTokens / tokens, 2, kMostRunning);
  std::map<int, double> running;
  if (num_ranks <= most_ranks) {
    for (const int rank : all_ranks(num_ranks)) running[rank] = 1;
    return running;
  }
  int64_t ranks_per_model = 1;
  for (const auto& [name, worker] : placed_roles(config)) {
    ranks_per_model = std::lcm(ranks_per_model, mesh_shape(*worker).model_ranks());
    running[worker->ranks.front()] = 0;
  }
  for (const RankClass& rank_class : rank_classes(config)) {
    const int64_t size = std::ssize(rank_class.ranks), num_models = (size + ranks_per_model - 1) / ranks_per_model;
    const int64_t wanted = std::clamp<int64_t>(most_ranks * size / num_ranks, 1, num_models);
    for (int64_t i = 0; i < wanted; ++i)
      running[rank_class.ranks[i * num_models / wanted * ranks_per_model]] =
          static_cast<double>(num_models) / static_cast<double>(wanted);
    if (size > num_models) running[rank_class.ranks[1]] = static_cast<double>(size - num_models);
  }
  add_other_stages(config, running);
  return running;
}

}  // namespace roll
