#include <catch2/catch.hpp>

#include "base/env.h"
#include "checkpoint/temporary_folder.h"
#include "settings/load_config.h"

namespace roll {

namespace {

Config loaded(const std::filesystem::path& file, const std::vector<std::string>& overrides = {}) {
  return load_config(file, overrides, {.num_ranks = {}, .offline = true}).config;
}

Config recipe_with(const std::vector<std::string>& overrides) {
  return loaded(std::string(ROLL_SOURCE_DIR) + "/tests/config/roll_recipe.yaml", overrides);
}

}  // namespace

TEST_CASE("the resolved YAML names the environment's variables in place of their values", "[train]") {
  set_env("ROLL_TEST_SECRET", "hush-hush-1234");
  set_env("ROLL_TEST_SEED", "77");
  const std::vector<std::string> overrides{"pretrain=${oc.env:ROLL_TEST_SECRET}",
                                           "exp_name=run-${oc.env:ROLL_TEST_SECRET}",
                                           "seed=${oc.env:ROLL_TEST_SEED}",
                                           "system_envs={TOKEN: '${oc.env:ROLL_TEST_SECRET}'}",
                                           "rewards.math_rule.worker_cls=null",
                                           "rewards.math_rule.type=command",
                                           "rewards.math_rule.command=[judge, '--key', '${oc.env:ROLL_TEST_SECRET}']"};
  const Config config = recipe_with(overrides);
  CHECK(config.seed == 77);
  CHECK(config.system_envs.at("TOKEN") == "hush-hush-1234");
  const std::string yaml = resolved_yaml(config);
  CHECK_THAT(yaml, !Catch::Contains("hush-hush"));
  CHECK_THAT(yaml, Catch::Contains("seed: ${oc.env:ROLL_TEST_SEED}\n"));
  CHECK_THAT(yaml, Catch::Contains("exp_name: \"run-${oc.env:ROLL_TEST_SECRET}\"\n"));
  CHECK_THAT(yaml, Catch::Contains("TOKEN: \"${oc.env:ROLL_TEST_SECRET}\"\n"));
  CHECK_THAT(yaml, Catch::Contains("model_name_or_path: \"${oc.env:ROLL_TEST_SECRET}\"\n"));  // copied from pretrain
  CHECK_THAT(yaml, Catch::Contains("command: [judge, \"--key\", \"${oc.env:ROLL_TEST_SECRET}\"]\n"));
  const test::TemporaryFolder folder;
  const Config again = loaded(folder.write("resolved.yaml", yaml));
  CHECK(resolved_yaml(again) == yaml);
  CHECK(again.actor_train.model_args.model_name_or_path == "hush-hush-1234");
  CHECK(again.seed == 77);
  const std::string refused = test::message_of([] { recipe_with({"seed=${oc.env:ROLL_TEST_SECRET}"}); });
  CHECK_THAT(refused, Catch::Contains("seed = ${oc.env:ROLL_TEST_SECRET}"));
  CHECK_THAT(refused, !Catch::Contains("hush-hush"));
}

}  // namespace roll
