#include "step/step_settings.h"

#include <catch2/catch.hpp>

#include "settings/config.h"
#include "settings/placement.h"

namespace roll {

TEST_CASE("training and forward passes have their own sizes and budgets", "[train]") {
  WorkerConfig worker;
  worker.training_args.per_device_train_batch_size = 3;
  worker.infer_batch_size = 5;
  CHECK(batch_rule(worker, Stage::kTrain).num_sequences == 3);
  CHECK(batch_rule(worker, Stage::kForward).num_sequences == 5);
  CHECK_FALSE(batch_rule(worker, Stage::kTrain).is_packed);

  WorkerConfig dynamic = worker;
  dynamic.packing.use_dynamic_batching_in_train = dynamic.packing.use_dynamic_batching_in_infer = true;
  dynamic.packing.max_tokens_per_microbatch_in_train = 30;
  dynamic.packing.max_tokens_per_microbatch_in_infer = 40;
  WorkerConfig packed = worker;
  packed.packing.use_sequence_packing = true;
  packed.packing.sequence_packing_args.max_packed_sequence_length_train = 30;
  packed.packing.sequence_packing_args.max_packed_sequence_length_forward = 40;
  for (const WorkerConfig& budgeted : {dynamic, packed}) {
    CHECK(batch_rule(budgeted, Stage::kTrain).is_packed);
    CHECK(batch_rule(budgeted, Stage::kTrain).packing.budget == 30);
    CHECK(batch_rule(budgeted, Stage::kForward).packing.budget == 40);
  }
}

TEST_CASE("a step runs the forward passes that something reads, and has the roles that the configuration uses",
          "[train]") {
  Config config;
  config.experience.adv_estimator = "grpo";
  config.rollout_batch_size = 1;
  config.actor_train.training_args.per_device_train_batch_size = 1;  // one update
  const StepSettings plain = step_settings(config);
  CHECK(plain.forwards.passes.empty());
  CHECK_FALSE(plain.find_training(kCriticRole));
  CHECK(plain.models.temperature == 0.95);
  CHECK_FALSE(plain.policy().updates.needs_signs);

  config.actor_train.policy.pg_variant = Chosen<PolicyLossKind>("topr");
  config.experience.adv_estimator = "gae";
  config.loss.use_kl_loss = true;
  config.ppo_epochs = 2;
  config.max_steps = 10;
  config.critic_warmup = 4;
  config.critic.training_args.per_device_train_batch_size = 1;
  config.actor_infer.generating_args.temperature = 0;
  const StepSettings all = step_settings(config);
  const TrainingSettings& critic = *all.find_training(kCriticRole);
  CHECK(all.forwards.passes.size() == 3);
  CHECK(all.models.temperature == 1);
  CHECK(all.policy().learner.schedule.total_steps == 12);
  CHECK(critic.learner.schedule.total_steps == 20);
  CHECK(all.policy().updates.loss_mask == "final_response_mask");
  CHECK(critic.updates.loss_mask == "response_mask");
  CHECK((all.policy().updates.needs_signs && !critic.updates.needs_signs));
}

TEST_CASE("mini-batches are of whole groups where the loss is a mean over prompts", "[train]") {
  Config config;
  config.num_return_sequences_in_group = 4;
  CHECK(step_settings(config).policy().epochs.group_size == 1);
  config.loss.loss_agg_mode = AggMode::kPromptMean;
  CHECK(step_settings(config).policy().epochs.group_size == 4);
}

TEST_CASE("responses of a step are in a file for each group of ranks that samples; a replay is read whole", "[train]") {
  Config config;
  CHECK(step_settings(config).rollouts.ending == ".jsonl");
  place_roles(config, 4);
  config.actor_infer.strategy_args.strategy_config.tensor_parallel_size = 2;
  CHECK(step_settings(config).rollouts.ending == "-*.jsonl");
  CHECK(step_settings(config).rollouts.folder == "rollouts");
  config.rollout_replay = "elsewhere";
  CHECK(step_settings(config).rollouts.ending == ".jsonl");
  CHECK(step_settings(config).rollouts.folder == "elsewhere");
}

TEST_CASE("where sampling runs ahead the learners are the ranks that train; samplers elsewhere have copies",
          "[train]") {
  Config config;
  config.experience.adv_estimator = "grpo";
  config.actor_train.device_mapping = DeviceMapping{{0, 1}};
  config.actor_infer.device_mapping = DeviceMapping{{1, 2}};
  place_roles(config, 3);
  CHECK(step_settings(config).places.learners == std::vector<int>{0, 1, 2});
  CHECK(step_settings(config).places.sampler_copies == std::vector<int>{2});
  config.async_generation_ratio = 1;
  CHECK(step_settings(config).places.learners == std::vector<int>{0, 1});
}

}  // namespace roll
