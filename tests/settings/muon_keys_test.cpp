// Keys of Muon: which rules hold, what a resumed run may not change, what a step costs.
#include <catch2/catch.hpp>

#include "base/error.h"
#include "optim/muon.h"
#include "settings/config_change.h"
#include "settings/load_config.h"
#include "settings/recipe.h"
#include "settings/small_config.h"
#include "settings/step_cost.h"

namespace roll {

using Catch::Contains;

namespace {

const std::string kMuonArgs = "actor_train.training_args.";

CheckedConfig<Config> muon_recipe(const std::vector<std::string>& overrides) {
  return load_config(kRecipe, overrides, {.num_ranks = {}, .offline = true});
}

std::string muon_error(const std::vector<std::string>& overrides) {
  try {
    muon_recipe(overrides);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("Muon has Jordan's momentum and steps, and refuses adapters and keys without effect", "[train]") {
  const TrainingArgs args = muon_recipe({kMuonArgs + "optimizer=muon"}).config.actor_train.training_args;
  CHECK((args.uses_muon() && args.muon.momentum == 0.95 && args.muon.num_steps == 5));
  CHECK_FALSE(muon_recipe({}).config.actor_train.training_args.uses_muon());
  CHECK_THAT(muon_error({kMuonArgs + "optimizer=sgd"}), Contains("adamw") && Contains("muon"));
  CHECK_THAT(muon_error({kMuonArgs + "muon_momentum=0.9"}),
             Contains("muon_momentum = 0.9") && Contains("has no effect, because of") && Contains("optimizer = adamw"));
  CHECK_THAT(muon_error({kMuonArgs + "optimizer=muon", kMuonArgs + "muon_momentum=1"}),
             Contains("must be at least 0 and below 1"));
  CHECK_THAT(muon_error({kMuonArgs + "optimizer=muon", kMuonArgs + "muon_num_ns_steps=0"}),
             Contains("must be in 1..99"));
  CHECK_THAT(muon_error({kMuonArgs + "optimizer=muon", "actor_train.model_args.lora_rank=8"}),
             Contains("optimizer = muon: updates whole matrices") && Contains("remove lora_*"));
}

TEST_CASE("a resumed run may not change its optimizer", "[train]") {
  const auto changes = config_changes("actor_train: {training_args: {optimizer: adamw}}", "config.yaml",
                                      "actor_train: {training_args: {optimizer: muon}}");
  REQUIRE(changes.size() == 1);
  CHECK((changes[0].key == kMuonArgs + "optimizer" && changes[0].before == "adamw" && changes[0].now == "muon"));
}

TEST_CASE("the cost of a step counts the products of Muon's trained matrices", "[train]") {
  const ModelSpec spec = test::small_spec(/*tied_head=*/true);  // 3 layers, 36 wide
  Config config = test::config_of(true, true, {"model.layers.1."});
  const double plain = step_cost(config, {{"actor_train", spec}}).training;
  CHECK(muon_flops(config.actor_train, spec) == 0);
  config.actor_train.training_args.optimizer = OptimizerKind::kMuon;
  config.actor_train.training_args.muon.num_steps = 3;
  // A step on [R, C] with R <= C has X X^T, A A and A X.
  const auto flops = [](double r, double c) { return 3 * (2 * r * r * c + 2 * r * r * r + 2 * r * r * c); };
  const double expected = 2 * (2 * flops(36, 36) + 2 * flops(12, 36) + 3 * flops(36, 77));
  CHECK(muon_flops(config.actor_train, spec) == Approx(expected));
  CHECK(muon_flops(77, 36, 3) == muon_flops(36, 77, 3));
  const double updates =
      static_cast<double>(config.sequences_per_step()) / static_cast<double>(config.actor_train.mini_batch());
  CHECK(step_cost(config, {{"actor_train", spec}}).training - plain == Approx(expected * updates));
}

}  // namespace roll
