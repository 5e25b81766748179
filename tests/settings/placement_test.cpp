#include "settings/placement.h"

#include <catch2/catch.hpp>

namespace roll {

namespace {

struct Setting {
  std::vector<int64_t> trainer, sampler;
  int64_t trainer_tp = 1, sampler_tp = 1;
};

Config placed(const Setting& setting) {
  Config config;
  config.actor_train.device_mapping = DeviceMapping{setting.trainer};
  config.actor_infer.device_mapping = DeviceMapping{setting.sampler};
  config.actor_train.strategy_args.strategy_config.tensor_model_parallel_size = setting.trainer_tp;
  config.actor_infer.strategy_args.strategy_config.tensor_parallel_size = setting.sampler_tp;
  place_roles(config, std::ssize(devices_of(placed_roles(config))));
  return config;
}

}  // namespace

TEST_CASE("a rank has the next of all devices that some role names", "[settings]") {
  const Config config = placed({{9, 4, 5}, {12, 5}});
  CHECK(config.actor_train.ranks == std::vector{0, 1, 2});
  CHECK(config.actor_infer.ranks == std::vector{1, 3});
  CHECK(placement_text(config) ==
        "ranks 0, 2: actor_train, critic\nranks 1: actor_train, actor_infer, critic\nranks 3: actor_infer\n");
}

TEST_CASE("a role without devices lives where the policy is trained, and that everywhere", "[settings]") {
  Config config;
  config.enable_reference = true;
  place_roles(config, 4);
  CHECK(config.actor_train.ranks == std::vector{0, 1, 2, 3});
  CHECK(config.reference.ranks == config.actor_train.ranks);
  CHECK(placement_text(config).empty());
  config.actor_train.device_mapping = DeviceMapping{{2, 3}};
  config.actor_infer.device_mapping = DeviceMapping{{0, 1}};
  place_roles(config, 4);
  CHECK(config.reference.ranks == std::vector{2, 3});
}

TEST_CASE("a sampler reads the trainer's tensors only as whole tensor groups of it", "[settings]") {
  CHECK(shares_weights(placed({{0, 1, 2, 3}, {0, 1, 2, 3}})));
  CHECK(shares_weights(placed({{0, 1, 2, 3}, {1, 3}})));
  CHECK_FALSE(shares_weights(placed({{0, 1}, {1, 2}})));
  CHECK_FALSE(shares_weights(placed({{0, 1}, {2, 3}})));
  CHECK(shares_weights(placed({{0, 1, 2, 3}, {2, 3}, 2, 2})));
  CHECK_FALSE(shares_weights(placed({{0, 1, 2, 3}, {1, 2}, 2, 2})));
  CHECK_FALSE(shares_weights(placed({{0, 1, 2, 3}, {0, 3}, 2, 2})));
  CHECK_FALSE(shares_weights(placed({{0, 1, 2, 3}, {0, 1, 2, 3}, 2, 4})));
}

}  // namespace roll
