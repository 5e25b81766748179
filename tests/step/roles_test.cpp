#include "step/roles.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "checkpoint/temporary_folder.h"
#include "dist/local_ranks.h"
#include "dist/single.h"
#include "model/golden.h"
#include "model/init_spec.h"
#include "settings/config.h"
#include "settings/placement.h"
#include "step/step_settings.h"

namespace roll {

using test::run_local_ranks;
using test::TemporaryFolder;

namespace {

Transformer tiny(uint64_t seed) {
  InitSizes sizes;
  sizes.arch = "qwen3";
  sizes.tie = false;
  sizes.vocab = 71;
  sizes.hidden = 32;
  sizes.layers = 2;
  sizes.kv_heads = 2;
  sizes.intermediate = 46;
  return Transformer::init(make_spec(sizes, {}), seed);
}

/// Trainer on ranks 0 and 1, sampler on 1 and 2.
Config partly_shared() {
  Config config;
  config.experience.adv_estimator = "grpo";
  config.actor_train.device_mapping = DeviceMapping{{0, 1}};
  config.actor_infer.device_mapping = DeviceMapping{{1, 2}};
  place_roles(config, 3);
  return config;
}

}  // namespace

TEST_CASE("the sampler reads the trainer's weights where it can, and is sent them elsewhere", "[train][dist]") {
  const TemporaryFolder folder;
  tiny(1).save(folder / "a");
  const RolePlaces places = step_settings(partly_shared()).places;
  const auto said = run_local_ranks(3, [&](Communicator& world) {
    Meshes meshes(world);
    const RoleMeshes mesh_of = role_meshes(places, meshes);
    const RoleModels models = models_in({.roles = {{kPolicyRole, {folder / "a"}}}});
    Roles roles = make_roles(models, places, mesh_of, at::kCPU);
    const at::NoGradGuard no_grad;
    for (int64_t update = 1; update <= 2; ++update) {
      if (roles.policy())
        for (auto& [name, tensor] : roles.policy()->parameters()) tensor.add_(1);
      update_sampler(roles, mesh_of, world.traffic());
    }
    std::string text = roles.sampler ? "a copy" : "no copy";
    if (mesh_of.sampler.is_here()) {
      Transformer expected = tiny(1);
      for (size_t i = 0; i < expected.parameters().size(); ++i) {
        const auto& [name, own] = roles.sampling_policy().parameters()[i];
        if (!at::equal(own, expected.parameters()[i].second + 1 + 1)) text += ", other " + name;
      }
    }
    const auto counts = world.traffic().take();
    const auto sent = counts.find("model_update/world/all_to_all");
    const int64_t half = 2 * (tiny(1).spec().num_parameters() / 2 * 4 + 8), row = 2 * 4 * 46;  // of two updates
    if (sent != counts.end() && sent->second.bytes > 0)
      text += std::abs(sent->second.bytes - half) <= row ? ", sent half" : fmt::format(", {}", sent->second.bytes);
    world.barrier("all are done");
    return text;
  });
  CHECK(said == std::vector<std::string>{"no copy, sent half", "no copy, sent half", "a copy"});
}

TEST_CASE("all roles of a run turn heads by its longest sequence, whatever their folders", "[train][dist]") {
  const TemporaryFolder folder;
  const Json golden = test::read_golden("phi3_longrope_beyond");  // an original context of 16
  for (const char* name : {"a", "r"}) test::write_golden_folder(golden, false, folder / name);
  const RolePlaces places = [] {
    Config config = partly_shared();
    config.enable_reference = true;
    config.experience.adv_estimator = "gae";
    place_roles(config, 3);
    return step_settings(config).places;
  }();
  for (const int64_t longest : {16, 17}) {
    const auto said = run_local_ranks(3, [&](Communicator& world) {
      Meshes meshes(world);
      const RoleMeshes mesh_of = role_meshes(places, meshes);
      const RoleModels models = models_in(
          {{{kPolicyRole, {folder / "a"}}, {kCriticRole, {folder / "a"}}, {kReferenceRole, {folder / "r"}}}, longest});
      const Roles roles = make_roles(models, places, mesh_of, at::kCPU);
      std::string text;
      const auto look = [&](const char* role, const auto& model) {
        if (model) text += fmt::format("{}{} ", role, model->spec().rope.is_long ? " long" : "");
      };
      look("actor", roles.policy());
      look("critic", roles.all.at(kCriticRole).value_model);
      look("reference", roles.all.at(kReferenceRole).transformer);
      look("sampler", roles.sampler);
      const bool told = std::ranges::all_of(roles.all, [](const auto& role) { return role.second.spec.rope.is_long; });
      world.barrier("all are done");
      return text + (told ? "told long" : "told");
    });
    const std::string how = longest > 16 ? " long" : "";
    const std::string all = fmt::format("actor{0} critic{0} reference{0} told{0}", how);
    CHECK(said == std::vector<std::string>{all, all, fmt::format("sampler{0} told{0}", how)});
  }
}

TEST_CASE("a reference from the policy's base is quantised as the policy, and another one is not", "[train]") {
  const TemporaryFolder folder;
  tiny(1).save(folder / "a");
  tiny(2).save(folder / "b");
  const LoraSpec lora{.rank = 2, .targets = {"q_proj"}, .quantise_base = Quantisation::kInt8};
  const RoleSource a{folder / "a"}, b{folder / "b"}, adapted{folder / "a", at::kFloat, lora};
  const RoleModels models = models_in({.roles = {{kPolicyRole, adapted}, {"teacher.a", a}, {"teacher.b", b}}});
  CHECK(models.at(kPolicyRole).spec.quantised == Quantisation::kInt8);
  CHECK(models.at("teacher.a").spec.quantised == Quantisation::kInt8);
  CHECK_FALSE(models.at("teacher.b").spec.quantised);
  const RoleModels plain = models_in({.roles = {{kPolicyRole, a}, {kReferenceRole, a}}});
  CHECK_FALSE(plain.at(kReferenceRole).spec.quantised);
}

TEST_CASE("whole weights are gathered on the first rank of a mesh", "[train][dist]") {
  const TemporaryFolder folder;
  tiny(1).save(folder / "a");
  const NamedTensors whole = tiny(1).parameters();
  const auto said = run_local_ranks(4, [&](Communicator& world) {
    Meshes meshes(world);
    Mesh& mesh = meshes.of({.tp = 2});
    const Transformer model = Transformer::load(folder / "a", at::kCPU, at::kFloat, model_parallel(mesh));
    const NamedTensors kept = gather_on_first(model, mesh);
    for (size_t i = 0; i < kept.size(); ++i)
      if (!at::equal(kept[i].second, whole[i].second)) return "other " + whole[i].first;
    world.barrier("all are done");
    return std::string(kept.size() == whole.size() ? "all" : kept.empty() ? "none" : "some");
  });
  CHECK(said == std::vector<std::string>{"all", "none", "none", "none"});
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
    const RoleMeshes roles = role_meshes(step_settings(config).places, meshes);
    std::string text;
    for (RoleMesh* mesh : {&roles.policy(), &roles.of(kReferenceRole), &roles.of(kCriticRole), &roles.sampler})
      text += fmt::format("{}{}{} ", mesh->dp_size(), mesh->shape().cp, mesh->shape().tp);
    Mesh &trainer = roles.policy().mesh(), &valuer = roles.of(kCriticRole).mesh();
    const ModelParallel actor = model_parallel(trainer), critic = model_parallel(valuer);
    const bool right =
        actor.tp == &trainer.tp() && !actor.cp && !critic.tp && critic.cp == &valuer.cp() && !roles.movers;
    world.barrier("all are done");
    return text + (&roles.policy() == &roles.sampler ? "shared " : "") + (right ? "right" : "wrong");
  });
  for (const auto& text : said) CHECK(text == "212 411 221 212 shared right");
}

}  // namespace roll
