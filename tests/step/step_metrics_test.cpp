#include "step/step_metrics.h"

#include <catch2/catch.hpp>

#include "dist/local_ranks.h"

namespace roll {

TEST_CASE("stages idle and wait in the mean over ranks, idle of those that have passes", "[step]") {
  const auto said = test::run_local_ranks(4, [](Communicator& world) {
    Mesh mesh(world, {.pp = 2});
    const int64_t num_micro_batches = mesh.place().dp == 0 ? 3 : 0;
    const UpdateResult update = {.compute_s = 2,
                                 .stage_wait_s = mesh.place().pp == 0 ? 1.0 : 0.5,
                                 .pass_s = std::vector<double>(2 * num_micro_batches, 0.25)};
    Metrics metrics;
    add_pipeline_metrics("actor", {.num_stages = 2}, num_micro_batches, update, mesh, metrics);
    std::string text;
    for (const auto& [name, mean] : metrics.values()) text += fmt::format("{} {:.3f}; ", name, mean);
    world.barrier("rank 0 holds the store until all have met");
    return text;
  });
  for (const std::string& text : said) {  // (p - 1) / (m + p - 1)
    CHECK(text.find("pipeline/actor/idle 0.250;") != std::string::npos);
    CHECK(text.find("pipeline/actor/waiting 0.375;") != std::string::npos);
  }
}

}  // namespace roll
