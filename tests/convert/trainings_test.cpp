// Trainings of other trainers beside rewards: fine-tuning, preferences, distillation.
#include <catch2/catch.hpp>

#include "base/error.h"
#include "config/yaml.h"
#include "convert/convert.h"

namespace roll {
namespace {

using Catch::Matchers::Contains;

Converted converted_training(const std::string& script, std::optional<int64_t> num_ranks = {}) {
  const ForeignLaunch launch = choose_launch(read_script(script, "s", {}), "s", {});
  return convert_config(launch.keys, launch.trainer.empty() ? "auto" : launch.trainer, num_ranks);
}

/// The value of a key of what is written, "none" where it is not there; lists as "[a, b]".
std::string value_at(const Converted& converted, const std::string& path) {
  const Node tree = parse_yaml(converted.yaml, "converted");
  const Node* node = &tree;
  for (size_t from = 0; node && from <= path.size();) {
    const size_t dot = std::min(path.find('.', from), path.size());
    node = node->find(path.substr(from, dot - from));
    from = dot + 1;
  }
  return !node ? "none" : node->kind == Node::Kind::kList ? flow_text(*node) : node->text;
}

void check_values(const Converted& converted, std::initializer_list<std::pair<const char*, const char*>> wanted) {
  for (const auto& [path, value] : wanted) {
    INFO(path);
    CHECK(value_at(converted, path) == value);
  }
}

bool tells(const Converted& converted, const std::string& what) {
  return std::ranges::any_of(converted.differences,
                             [&](const std::string& line) { return line.find(what) != line.npos; });
}

const std::string kVerlSft =
    "torchrun --nnodes=1 --nproc_per_node=8 -m verl.trainer.sft_trainer data.train_files=a.parquet ";
const std::string kSlimeSft =
    "python3 train_async.py --actor-num-nodes 1 --actor-num-gpus-per-node 8 --hf-checkpoint m --prompt-data a.parquet "
    "--input-key messages --rollout-function-path slime.rollout.sft_rollout.generate_rollout --loss-type sft_loss "
    "--disable-compute-advantages-and-returns --debug-train-only --rollout-batch-size 128 --num-epoch 3 ";
const std::string kDpo = "python3 trl/scripts/dpo.py --model_name_or_path m --dataset_name d ";

}  // namespace

TEST_CASE("verl's fine-tuning keeps its batches, epochs, schedule and adapters", "[convert]") {
  const Converted out = converted_training(
      kVerlSft +
      "model.path=m optim.lr=2e-5 optim.betas='[0.9,0.95]' optim.lr_scheduler_type=cosine optim.lr_warmup_steps=5 "
      "optim.min_lr_ratio=0.1 data.train_batch_size=64 data.max_length=2048 model.lora_rank=32 "
      "engine.ulysses_sequence_parallel_size=2 trainer.total_epochs=3 trainer.save_freq=after_each_epoch");
  CHECK(out.command == "sft");
  check_values(out, {{"pretrain", "m"},
                     {"num_train_epochs", "3"},
                     {"sequence_length", "2048"},
                     {"save_steps", "0"},
                     {"sft_train.data_args.messages", "messages"},
                     {"sft_train.training_args.train_batch_size", "64"},
                     {"sft_train.training_args.learning_rate", "2e-5"},
                     {"sft_train.training_args.warmup_steps", "5"},
                     {"sft_train.training_args.lr_scheduler_type", "cosine_with_min_lr"},
                     {"sft_train.training_args.lr_scheduler_kwargs.min_lr_rate", "0.1"},
                     {"sft_train.training_args.adam_beta2", "0.95"},
                     {"sft_train.model_args.lora_rank", "32"},
                     {"sft_train.model_args.lora_alpha", "16"},
                     {"sft_train.strategy_args.strategy_config.context_parallel_size", "2"},
                     {"sft_train.sequence_packing_args.max_packed_sequence_length_train", "16384"},
                     {"sft_train.device_mapping", "list(range(0,8))"},
                     {"eval_steps", "none"}});
  CHECK(tells(out, "save_steps: verl did so after each pass"));
  check_values(converted_training(kVerlSft + "model.path=m trainer.total_training_steps=10"),
               {{"max_steps", "10"},
                {"num_train_epochs", "none"},
                {"sft_train.training_args.train_batch_size", "256"},
                {"sft_train.training_args.learning_rate", "1e-3"},
                {"sft_train.training_args.lr_scheduler_type", "constant_with_warmup"}});
  const std::string head = kVerlSft + "model.path=m model.mtp.enable=True ";
  constexpr const char* kCoefficient = "sft_train.strategy_args.strategy_config.mtp_loss_coef";
  check_values(converted_training(head), {{kCoefficient, "none"}});  // it is only saved again
  const Converted trained =
      converted_training(head + "model.mtp.enable_train=True model.mtp.mtp_loss_scaling_factor=0.3");
  check_values(trained, {{kCoefficient, "0.3"}});
  CHECK(tells(trained, "in roll it trains the head alone"));
  CHECK_FALSE(tells(converted_training(head + "model.mtp.enable_train=True model.mtp.detach_encoder=True"),
                    "in roll it trains the head alone"));
  const std::pair<const char*, const char*> refused[] = {
      {"data.train_max_samples=100", "a part of the rows"},
      {"optim.lr_warmup_init=1e-7", "a warm-up that starts above 0 is not supported"},
      {"optim.optimizer=Muon", "not a supported optimizer"},
      {"engine.qat.enable=True", "QAT"},
      {"model.lora_adapter_path=x", "to start from adapters"},
      {"data.train_batch_size=12", "cannot be split evenly over 8"}};
  for (const auto& [key, why] : refused) {
    INFO(key);
    CHECK_THROWS_WITH(converted_training(kVerlSft + "model.path=m " + key), Contains(why));
  }
}

TEST_CASE("verl's older fine-tuning has defaults of its own, and columns within columns", "[convert]") {
  const Converted out = converted_training(
      "torchrun -m verl.trainer.fsdp_sft_trainer data.train_files=a data.prompt_key=extra_info "
      "data.response_key=extra_info data.prompt_dict_keys=['question'] +data.response_dict_keys=['answer'] "
      "model.partial_pretrain=m model.lora_rank=8 model.target_modules=[q_proj,v_proj]");
  check_values(out, {{"pretrain", "m"},
                     {"sft_train.data_args.question", "extra_info.question"},
                     {"sft_train.data_args.response", "extra_info.answer"},
                     {"sft_train.training_args.learning_rate", "1e-5"},
                     {"sft_train.training_args.lr_scheduler_type", "cosine"},
                     {"sft_train.training_args.warmup_ratio", "0.1"},
                     {"sft_train.training_args.adam_beta2", "0.95"},
                     {"sft_train.model_args.lora_target", "[q_proj, v_proj]"},
                     {"sft_train.device_mapping", "none"}});
  CHECK(tells(out, "loss: verl averages over each rank's micro-batch"));
  CHECK(tells(out, "the number of GPUs is not given"));
}

TEST_CASE("slime's fine-tuning learns rows of messages, with its adapters", "[convert]") {
  const Converted out = converted_training(
      kSlimeSft +
      "--global-batch-size 64 --calculate-per-token-loss --lr 1e-5 --lr-decay-style cosine --min-lr "
      "1e-6 --use-dynamic-batch-size --max-tokens-per-gpu 9216 --use-lora --lora-rank 8 --lora-alpha 16");
  CHECK(out.command == "sft");
  check_values(out, {{"loss_agg_mode", "token-mean"},
                     {"num_train_epochs", "3"},
                     {"sequence_length", "9216"},
                     {"sft_train.data_args.messages", "messages"},
                     {"sft_train.training_args.train_batch_size", "64"},
                     {"sft_train.training_args.lr_scheduler_kwargs.min_lr", "1e-6"},
                     {"sft_train.model_args.lora_rank", "8"},
                     {"actor_train.training_args.learning_rate", "none"},
                     {"rewards.math_rule.type", "none"}});
  CHECK(tells(out, "slime trains on rows of any length"));
  check_values(converted_training(kSlimeSft + "--num-rollout 10 --global-batch-size 64"),
               {{"loss_agg_mode", "seq-mean-token-mean"}, {"max_steps", "20"}});
  CHECK_THROWS_WITH(converted_training(kSlimeSft + "--loss-type policy_loss"), Contains("loss-type = policy_loss"));
  CHECK_THROWS_WITH(converted_training("python3 train.py --hf-checkpoint m --actor-num-gpus-per-node 8 "
                                       "--rollout-function-path my.rollout"),
                    Contains("a custom rollout function"));
}

TEST_CASE("slime's asynchronous rollout samples a step ahead, on devices of its own", "[convert]") {
  const std::string slime =
      "python3 train_async.py --hf-checkpoint m --actor-num-gpus-per-node 4 --rollout-function-path "
      "slime.rollout.fully_async_rollout.generate_rollout_fully_async ";
  const Converted out = converted_training(slime + "--rollout-num-gpus 2");
  check_values(out, {{"async_generation_ratio", "1"}, {"actor_infer.device_mapping", "list(range(4,6))"}});
  CHECK(tells(out, "finished responses of any age"));
  CHECK_THROWS_WITH(converted_training(slime), Contains("give --rollout-num-gpus"));
}

TEST_CASE("preferences keep their loss, reference and adapters", "[convert]") {
  const Converted trl = converted_training(
      kDpo +
          "--beta 0.2 --per_device_train_batch_size 2 --gradient_accumulation_steps 8 --max_steps 1000 --use_peft "
          "--lora_r 32 --lora_alpha 16 --label_smoothing 0.1",
      4);
  CHECK(trl.command == "dpo");
  check_values(trl, {{"beta", "0.2"},
                     {"label_smoothing", "0.1"},
                     {"max_steps", "1000"},
                     {"actor_train.training_args.train_batch_size", "64"},
                     {"actor_train.model_args.lora_rank", "32"},
                     {"reference.device_mapping", "list(range(0,4))"}});
  CHECK_THROWS_WITH(converted_training(kDpo), Contains("give it with -n"));
  for (const char* key : {"--loss_type ipo", "--loss_type sigmoid sft", "--use_weighting true", "--ld_alpha 0.5"}) {
    INFO(key);
    CHECK_THROWS_WITH(converted_training(kDpo + key, 1),
                      Contains("not a supported loss; `roll dpo` has DPO, cDPO and IPO"));
  }
  CHECK_THROWS_WITH(converted_training(kDpo + "--load_in_4bit true", 1), Contains("4-bit weights cannot be trained"));

  const std::string openrlhf =
      "deepspeed --module openrlhf.cli.train_dpo --model.model_name_or_path m --data.dataset d --train.batch_size 256 ";
  check_values(converted_training(openrlhf + "--model.beta 0.3 --model.ipo_enable --data.apply_chat_template "
                                             "--data.prompt_key prompt --ds.lora.rank 4 --ds.load_in_4bit"),
               {{"beta", "0.3"},
                {"ipo", "true"},
                {"num_train_epochs", "1"},
                {"actor_train.data_args.messages", "prompt"},
                {"actor_train.training_args.train_batch_size", "256"},
                {"actor_train.model_args.lora_rank", "4"},
                {"actor_train.model_args.quantise_base", "nf4"},
                {"actor_train.training_args.learning_rate", "1e-5"}});
  CHECK_THROWS_WITH(converted_training(openrlhf + "--model.nll_loss_coef 0.2"),
                    Contains("an additional loss on chosen responses"));
}

TEST_CASE("OpenRLHF's fine-tuning is refused where prompts get a template of their own", "[convert]") {
  const std::string sft =
      "deepspeed --module openrlhf.cli.train_sft --model.model_name_or_path m --data.dataset d --data.input_key "
      "question ";
  CHECK_THROWS_WITH(converted_training(sft + "--data.output_key response"),
                    Contains("OpenRLHF puts prompts into 'User: {}\\nAssistant: '"));
  check_values(converted_training(sft + "--data.output_key response --data.input_template {}"),
               {{"sft_train.data_args.prompt", "question"}, {"sft_train.data_args.response", "response"}});
  check_values(converted_training(sft + "--data.output_key response --data.apply_chat_template --train.max_epochs 5"),
               {{"sft_train.data_args.question", "question"}, {"num_train_epochs", "5"}});
  CHECK_THROWS_WITH(converted_training(sft + "--data.apply_chat_template"),
                    Contains("the last answer of a conversation"));
  check_values(converted_training(sft + "--data.apply_chat_template --data.multiturn"),
               {{"sft_train.data_args.messages", "question"}, {"num_train_epochs", "2"}});
}

TEST_CASE("a distillation by policy gradients has the teacher's KL as its advantages", "[convert]") {
  const std::string verl =
      "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=m "
      "trainer.n_gpus_per_node=8 data.train_batch_size=128 actor_rollout_ref.actor.ppo_mini_batch_size=128 "
      "distillation.enabled=True distillation.teacher_models.teacher_model.model_path=big "
      "distillation.distillation_loss.loss_mode=k1 distillation.distillation_loss.";
  check_values(
      converted_training(verl + "use_policy_gradient=True distillation.distillation_loss.use_task_rewards=False "
                                "distillation.distillation_loss.loss_max_clamp=10.0"),
      {{"is_pure_opd", "true"},
       {"kl_penalty", "kl"},
       {"advantage_clip", "10.0"},
       {"adv_estimator", "none"},
       {"enable_old_logprobs_recompute", "true"},
       {"teacher.model_args.model_name_or_path", "big"},
       {"teacher.device_mapping", "list(range(0,8))"}});
  check_values(
      converted_training(verl + "use_policy_gradient=True distillation.distillation_loss.distillation_loss_coef=0.5 "
                                "actor_rollout_ref.rollout.n=4"),
      {{"use_opd", "true"}, {"opd_kl_coef", "0.5"}, {"adv_estimator", "grpo"}});
  CHECK_THROWS_WITH(converted_training(verl + "use_policy_gradient=False"),
                    Contains("a gradient through the KL is not supported"));
  CHECK_THROWS_WITH(
      converted_training(verl + "use_policy_gradient=True actor_rollout_ref.actor.ppo_mini_batch_size=64"),
      Contains("several updates of a step"));
  CHECK_THROWS_WITH(converted_training(verl + "use_policy_gradient=True distillation.teacher_models.b.model_path=c"),
                    Contains("several teachers"));

  const std::string slime =
      "python3 train.py --hf-checkpoint m --actor-num-gpus-per-node 8 --n-samples-per-prompt 4 --use-opd ";
  check_values(converted_training(slime + "--opd-type megatron --opd-kl-coef 0.5 --opd-teacher-load big"),
               {{"use_opd", "true"},
                {"opd_kl_coef", "0.5"},
                {"adv_estimator", "grpo"},
                {"teacher.model_args.model_name_or_path", "big"}});
  const Converted pure =
      converted_training(slime +
                         "--opd-type sglang --custom-rm-path slime.rollout.on_policy_distillation.reward_func "
                         "--custom-reward-post-process-path slime.rollout.on_policy_distillation.post_process_rewards");
  check_values(pure, {{"is_pure_opd", "true"}, {"adv_estimator", "none"}});
  CHECK(tells(pure, "teacher.model_args.model_name_or_path: was not given"));
  CHECK_THROWS_WITH(converted_training(slime + "--custom-reward-post-process-path my.function"),
                    Contains("Python code cannot be converted"));
}

}  // namespace roll
