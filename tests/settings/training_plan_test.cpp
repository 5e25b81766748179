#include "settings/training_plan.h"

#include <catch2/catch.hpp>

namespace roll {

namespace {

/// "reference, old_log_probs, values; train_critic from 1, train_actor from 5"
std::string words_of(const Config& config) {
  const TrainingPlan plan = plan_training(config);
  std::string text;
  for (const PlannedPass& pass : plan.passes)
    text += fmt::format("{}{} by {}", text.empty() ? "" : ", ", pass.phase(), pass.role);
  for (const PlannedUpdate& update : plan.updates) text += fmt::format("; {} from {}", update.phase, update.first_step);
  return text;
}

Config one_update() {
  Config config;
  config.experience.adv_estimator = "grpo";
  config.rollout_batch_size = 1;
  config.num_return_sequences_in_group = 2;
  config.actor_train.training_args.train_batch_size = 2;  // one update
  return config;
}

}  // namespace

TEST_CASE("a step has the passes that something reads, and the updates of what is trained", "[settings]") {
  Config config = one_update();
  CHECK(words_of(config) == "; train_actor from 1");
  config.loss.use_kl_loss = true;
  CHECK(words_of(config) == "reference by reference; train_actor from 1");
  config.ppo_epochs = 2;  // after the first update the current log-probs are another policy's
  CHECK(words_of(config) == "reference by reference, old_log_probs by actor_train; train_actor from 1");
  config.experience.adv_estimator = "gae";
  config.critic_warmup = 4;
  CHECK(words_of(config) ==
        "reference by reference, old_log_probs by actor_train, values by critic; train_critic from 1; train_actor from "
        "5");
  config.rollout_only = true;
  CHECK(words_of(config).empty());
}

TEST_CASE("teachers take the reference's place, in the order of their names", "[settings]") {
  Config config = one_update();
  config.experience.use_opd = true;
  config.teacher["math"].domains = {"math_rule"};
  config.teacher["code"].opd_kl_coef = 0.5;
  CHECK(words_of(config) == "reference by teacher.code, reference by teacher.math; train_actor from 1");
  const TrainingPlan plan = plan_training(config);
  CHECK(plan.find_pass(config.reference) == nullptr);
  CHECK(plan.passes[0].teacher->opd_kl_coef == 0.5);
  CHECK(plan.passes[0].finding == Finding::kTeacher);
  CHECK(plan.find_pass(config.teacher["math"].model)->teacher->domains == std::vector<std::string>{"math_rule"});
  CHECK(plan.find_pass(config.actor_train) == nullptr);
}

TEST_CASE("the roles that a run can train begin with different letters in timelines", "[settings]") {
  std::string letters = "wgbfrov";  // of the other phases (forecast/timeline.cpp)
  for (const TrainableRole& row : trainable_roles()) {
    CHECK(letters.find(row.metrics[0]) == std::string::npos);
    CHECK(is_trained(row.role));
    letters += row.metrics[0];
  }
  CHECK_FALSE(is_trained(kReferenceRole));
}

}  // namespace roll
