// Each architecture's tiny model whose weights and sequences are shared by ranks, against the whole one, in float64.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "checkpoint/temporary_folder.h"
#include "dist/local_ranks.h"
#include "model/golden.h"
#include "model/parallel_outcome.h"

namespace roll {

TEST_CASE("ranks that share an architecture's weights and sequences compute what one does", "[model]") {
  const auto name = GENERATE(from_range(test::kGoldenArchitectures), from_range(test::kGoldenDeltaNets),
                             from_range(test::kGoldenGemma4));
  const auto shape = GENERATE(MeshShape{.tp = 2}, MeshShape{.cp = 2});
  INFO(name << ", cp " << shape.cp << ", tp " << shape.tp);
  const test::TemporaryFolder folder;
  const Json golden = test::read_golden(name);
  test::write_golden_folder(golden, false, folder / "m");
  const auto load = [&](const ModelParallel& parallel) {
    return Transformer::load(folder / "m", at::kCPU, at::kDouble, parallel).for_length(test::golden_length(golden));
  };
  const PackedTokens tokens =
      pack_tokens({{7, 8, 9, 1, 3, 5, 60}, {2}, test::ids_below(61, 33), test::ids_below(61, 12)});
  const test::Outcome whole = test::policy_outcome(load({}), {}, tokens);
  for (const auto& wrong : test::run_local_ranks(static_cast<int>(shape.cp * shape.tp), [&](Communicator& world) {
         Mesh mesh(world, shape);
         const Transformer part = load(test::parallel_of(mesh));
         return test::differences(part, test::policy_outcome(part, {}, tokens), mesh, whole);
       }))
    REQUIRE(wrong == "");
}

}  // namespace roll
