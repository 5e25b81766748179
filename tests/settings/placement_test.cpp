#include "settings/placement.h"

#include <catch2/catch.hpp>

#include "settings/batch_plan.h"

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
  place_roles(config, std::ssize(used_devices(placed_roles(config))));
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

TEST_CASE("a rank has a place in a role that lives there, and none elsewhere", "[settings]") {
  const Config config = placed({{4, 9, 12}, {2, 9, 20}});  // ranks 1, 2, 3 and 0, 2, 4
  CHECK(rank_in_role(1, config.actor_train) == 0);
  CHECK(rank_in_role(3, config.actor_train) == 2);
  CHECK(rank_in_role(2, config.actor_infer) == 1);
  CHECK_FALSE(rank_in_role(0, config.actor_train));  // before all, between and behind
  CHECK_FALSE(rank_in_role(1, config.actor_infer));
  CHECK_FALSE(rank_in_role(4, config.actor_train));
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

TEST_CASE("ranks of a sampler read the trainer's tensors beside others that are sent copies", "[settings]") {
  const auto sharing = [](const Setting& setting) {
    const Config config = placed(setting);
    std::vector<int> ranks;
    for (int rank = 0; rank < 6; ++rank)
      if (shares_weights(config, rank)) ranks.push_back(rank);
    return ranks;
  };
  CHECK(sharing({{0, 1}, {1, 2}}) == std::vector{1});
  CHECK(sharing({{0, 1}, {2, 3}}).empty());
  CHECK(sharing({{0, 1, 2, 3}, {2, 3, 4, 5}, 2, 2}) == std::vector{2, 3});
  CHECK(sharing({{0, 1, 2, 3}, {1, 2, 4, 5}, 2, 2}).empty());
  CHECK(sharing({{2, 3, 4, 5}, {0, 2, 3, 4}, 2, 2}).empty());
  CHECK(sharing({{0, 1, 2, 3}, {2, 3, 4, 5}, 2, 1}).empty());
}

TEST_CASE("while sampling runs ahead, those learn that train or compute what training needs", "[settings]") {
  Config config = placed({{0, 1}, {2, 3}});
  CHECK(learner_ranks(config) == std::vector{0, 1, 2, 3});
  config.async_generation_ratio = 0.5;
  CHECK(learner_ranks(config) == std::vector{0, 1});
  config.reference.device_mapping = DeviceMapping{{5}};
  config.critic.device_mapping = DeviceMapping{{4}};
  place_roles(config, 5);
  CHECK(learner_ranks(config) == std::vector{0, 1, 4});  // nobody looks at a reference
  CHECK(training_ranks(config) == std::vector{0, 1, 4});
  config.enable_reference = true;
  place_roles(config, 6);
  CHECK(learner_ranks(config) == std::vector{0, 1, 4, 5});
  CHECK(training_ranks(config) == std::vector{0, 1, 4});
}

}  // namespace roll
