#include "pipeline/schedule.h"

#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <utility>

using namespace roll;

namespace {

std::string text_of(int64_t stage, int64_t num_stages, int64_t num_micro_batches) {
  std::string text;
  for (const auto& [is_forward, k] : one_forward_one_backward(stage, num_stages, num_micro_batches))
    text += (is_forward ? "F" : "B") + std::to_string(k) + " ";
  return text;
}

/// Plays all stages, each pass in one unit of time once what it needs is there; when the last one ends. -1: they wait
/// for each other.
int64_t played(int64_t num_stages, int64_t num_micro_batches, int64_t& most_under_way) {
  std::map<std::pair<int64_t, int64_t>, int64_t> forward_at, backward_at;  // by stage and micro-batch: when it ended
  std::vector<std::vector<PipelinePass>> passes;
  std::vector<size_t> next(num_stages);
  std::vector<int64_t> free_at(num_stages), under_way(num_stages);
  for (int64_t s = 0; s < num_stages; ++s) passes.push_back(one_forward_one_backward(s, num_stages, num_micro_batches));
  most_under_way = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (int64_t s = 0; s < num_stages; ++s) {
      if (next[s] == passes[s].size()) continue;
      const auto [is_forward, k] = passes[s][next[s]];
      auto& ended = is_forward ? forward_at : backward_at;
      const bool waits = is_forward ? s > 0 : s + 1 < num_stages;
      const std::pair source{is_forward ? s - 1 : s + 1, k};
      if (waits && !ended.contains(source)) continue;
      if (!is_forward && !forward_at.contains({s, k})) return -1;
      free_at[s] = std::max(free_at[s], waits ? ended[source] : 0) + 1;
      ended[{s, k}] = free_at[s];
      under_way[s] += is_forward ? 1 : -1;
      most_under_way = std::max(most_under_way, under_way[s]);
      ++next[s];
      moved = true;
    }
  }
  for (int64_t s = 0; s < num_stages; ++s)
    if (next[s] != passes[s].size()) return -1;
  return *std::max_element(free_at.begin(), free_at.end());
}

}  // namespace

TEST_CASE("Stages begin with as many forwards as are behind them, then alternate", "[pipeline]") {
  CHECK(text_of(0, 1, 3) == "F0 B0 F1 B1 F2 B2 ");
  CHECK(text_of(0, 3, 4) == "F0 F1 F2 B0 F3 B1 B2 B3 ");
  CHECK(text_of(1, 3, 4) == "F0 F1 B0 F2 B1 F3 B2 B3 ");
  CHECK(text_of(2, 3, 4) == "F0 B0 F1 B1 F2 B2 F3 B3 ");
  CHECK(text_of(0, 4, 1) == "F0 B0 ");
  CHECK(text_of(0, 4, 0).empty());
}

TEST_CASE("A pipeline ends, idles by its bubble and holds few micro-batches", "[pipeline]") {
  for (const int64_t stages : {1, 2, 3, 4, 7})
    for (const int64_t batches : {1, 2, 3, 8, 20}) {
      INFO(stages << " stages, " << batches << " micro-batches");
      int64_t under_way = 0;
      const int64_t end = played(stages, batches, under_way);
      CHECK(end == 2 * (batches + stages - 1));
      CHECK(bubble_share(stages, batches) == Approx(1 - 2.0 * static_cast<double>(batches) / static_cast<double>(end)));
      CHECK(under_way == std::min(stages, batches));
    }
}
