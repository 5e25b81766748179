#include "report/settings_table.h"

#include <catch2/catch.hpp>

namespace {

const roll::Setting& setting(const std::vector<roll::Setting>& settings, const std::string& key) {
  const roll::Setting* const found = roll::find_setting(settings, key);
  REQUIRE(found);
  return *found;
}

}  // namespace

TEST_CASE("what a configuration changes is told from what it leaves") {
  const auto settings = roll::read_settings(
      "exp_name: mine\nmax_steps: 500\nseed: 42\nactor_train:\n  training_args:\n    learning_rate: 0.25\n"
      "rewards:\n  sums:\n    type: math_rule\n    on_reward_error: drop\ntag_to_template: {}\nresume_from_checkpoint: "
      "false\n",
      "config.resolved.yaml");
  CHECK(setting(settings, "exp_name").is_changed());
  CHECK_FALSE(setting(settings, "max_steps").is_changed());
  CHECK_FALSE(setting(settings, "seed").is_changed());
  CHECK(setting(settings, "actor_train.training_args.learning_rate").is_changed());
  CHECK(setting(settings, "actor_train.training_args.learning_rate").value == "0.25");
  CHECK_FALSE(setting(settings, "rewards.sums.on_reward_error").is_changed());
  CHECK(setting(settings, "rewards.sums.type").is_changed());
  CHECK_FALSE(setting(settings, "tag_to_template").is_changed());
  CHECK_FALSE(setting(settings, "resume_from_checkpoint").is_changed());
  CHECK(roll::find_setting(settings, "rewards.sums") == nullptr);
}

TEST_CASE("a configuration of roll sft is compared with the defaults of roll sft") {
  const auto settings = roll::read_settings("exp_name: sft\nsft_train:\n  apply_loss_scale: true\n", "config");
  CHECK_FALSE(setting(settings, "exp_name").is_changed());
  CHECK_FALSE(setting(settings, "sft_train.apply_loss_scale").is_changed());
}

TEST_CASE("keys that runs set differently are found, whichever run has them") {
  const std::vector<roll::Setting> a = {{"seed", "1", {}}, {"gamma", "1", {}}},
                                   b = {{"seed", "2", {}}, {"gamma", "1", {}}, {"lambd", "0.9", {}}};
  const auto differ = roll::differences({a, b, a});
  REQUIRE(differ.size() == 2);
  CHECK(differ[0].key == "seed");
  CHECK(differ[0].values == std::vector<std::optional<std::string>>{"1", "2", "1"});
  CHECK(differ[1].key == "lambd");
  CHECK(differ[1].values == std::vector<std::optional<std::string>>{std::nullopt, "0.9", std::nullopt});
  CHECK(roll::differences({a}).empty());
}
