#include "train/roles.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "checkpoint/temporary_folder.h"
#include "dist/local_ranks.h"
#include "dist/single.h"
#include "model/init_spec.h"
#include "settings/placement.h"

namespace roll {

using test::run_local_ranks;
using test::TemporaryFolder;

namespace {

Transformer tiny(uint64_t seed) {
  InitSizes sizes;
  sizes.arch = "qwen3", sizes.tie = false, sizes.vocab = 71, sizes.hidden = 32, sizes.layers = 2, sizes.kv_heads = 2;
  sizes.intermediate = 46;
  return Transformer::init(make_spec(sizes, {}), seed);
}

/// Weights of `from` under one layout brought into a model with other weights under another: "" or what differs.
std::string moved(Communicator& world, const std::filesystem::path& folder, int64_t from_tp, int64_t to_tp) {
  Meshes meshes(world);
  Mesh &source = meshes.of({.tp = from_tp}), &target = meshes.of({.tp = to_tp});
  const Transformer from = Transformer::load(folder / "a", at::kCPU, at::kFloat, model_parallel(source));
  Transformer to = Transformer::load(folder / "b", at::kCPU, at::kFloat, model_parallel(target));
  const at::Tensor held = to.parameters()[3].second;
  move_weights(&from, &to, world, 0);
  std::string wrong = held.is_same(to.parameters()[3].second) ? "" : "another tensor object; ";
  const NamedTensors whole = tiny(1).parameters();
  for (size_t i = 0; i < whole.size(); ++i)
    if (!at::equal(to.parts().gather(whole[i].first, to.parameters()[i].second), whole[i].second))
      wrong += whole[i].first + " ";
  const NamedTensors kept = gather_on_first(to, target);
  if (kept.size() != (world.is_first() ? whole.size() : 0)) wrong += "kept by the wrong rank; ";
  world.barrier("all are done");
  return wrong;
}

}  // namespace

TEST_CASE("weights go from one layout to another to the bit", "[train]") {
  const auto [num_ranks, from_tp, to_tp] =
      GENERATE(table<int, int64_t, int64_t>({{2, 2, 1}, {2, 1, 2}, {4, 2, 4}, {4, 4, 1}, {2, 2, 2}}));
  const TemporaryFolder folder;
  tiny(1).save(folder / "a");
  tiny(2).save(folder / "b");
  for (const auto& wrong : run_local_ranks(num_ranks, [&, from = from_tp, to = to_tp](Communicator& world) {
         return moved(world, folder.path(), from, to);
       }))
    CHECK(wrong == "");
}

TEST_CASE("weights that do not arrive to the bit are a bug", "[train]") {
  const TemporaryFolder folder;
  tiny(1).save(folder / "a");
  const Transformer from = Transformer::load(folder / "a");
  Transformer narrow = Transformer::load(folder / "a", at::kCPU, at::kBFloat16);
  const auto alone = make_single_communicator();
  CHECK_THROWS_WITH(move_weights(&from, &narrow, *alone, 0), Catch::Contains("the sampler has the trainer's weights"));
}

TEST_CASE("each role asks for its own layout; the sampler shares weights, never sequences", "[train]") {
  Config config;
  config.enable_reference = true;
  config.actor_train.strategy_args.strategy_config.tensor_model_parallel_size = 2;
  config.critic.strategy_args.strategy_config.ulysses_size = 2;
  config.actor_infer.strategy_args.strategy_config.tensor_parallel_size = 2;
  config.actor_infer.strategy_args.strategy_config.context_parallel_size = 2;
  place_roles(config, 4);
  const auto said = run_local_ranks(4, [&](Communicator& world) {
    Meshes meshes(world);
    const RoleMeshes roles = role_meshes(config, meshes);
    std::string text;
    for (RoleMesh* mesh : {&roles.actor, &roles.reference, &roles.critic, &roles.sampler})
      text += fmt::format("{}{}{} ", mesh->dp_size(), mesh->shape().cp, mesh->shape().tp);
    Mesh &trainer = roles.actor.mesh(), &valuer = roles.critic.mesh();
    const ModelParallel actor = model_parallel(trainer), critic = model_parallel(valuer);
    const bool right =
        actor.tp == &trainer.tp() && !actor.cp && !critic.tp && critic.cp == &valuer.cp() && !roles.movers;
    world.barrier("all are done");
    return text + (&roles.actor == &roles.sampler ? "shared " : "") + (right ? "right" : "wrong");
  });
  for (const auto& text : said) CHECK(text == "212 411 221 212 shared right");
}

}  // namespace roll
