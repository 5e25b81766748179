#include "settings/distillation.h"

#include <catch2/catch.hpp>

#include "base/file.h"
#include "checkpoint/temporary_folder.h"
#include "error_of.h"
#include "settings/load_config.h"
#include "settings/placement.h"
#include "step/step_settings.h"

namespace roll {

namespace {

/// In ROLL's words for its launcher of distillation.
const std::string kStudents = R"(
rollout_batch_size: 16
prompt_length: 64
response_length: 64
num_return_sequences_in_group: 4
adv_estimator: reinforce
pretrain: student
student_train:
  training_args: {per_device_train_batch_size: 8, gradient_accumulation_steps: 1}
  data_args: {file_name: [rows.jsonl], messages: messages, template: qwen3}
  strategy_args: {strategy_name: megatron_train, strategy_config: {pipeline_model_parallel_size: 1}}
  device_mapping: list(range(0,8))
student_infer:
  generating_args: {temperature: 0.99}
  device_mapping: list(range(0,8))
rewards:
  math_rule: {type: math_rule, tag_included: [dapo, aime]}
  code: {type: math_rule, tag_included: [kod]}
)";
const std::string kOne = R"(
teacher:
  model_args: {model_name_or_path: big}
  strategy_args: {strategy_name: megatron_infer, strategy_config: {tensor_model_parallel_size: 2}}
  device_mapping: list(range(0,16))
  opd_kl_coef: 0.25
)";
const std::string kTwo = R"(
teacher:
  general: {model_args: {model_name_or_path: big}, device_mapping: 'list(range(0,8))'}
  coder: {model_args: {model_name_or_path: code}, device_mapping: 'list(range(8,16))', tag_included: [kod], opd_kl_coef: 2}
)";

CheckedConfig<Config> distilled(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
  return load_config_text(yaml, "f.yaml", overrides, {.num_ranks = {}, .offline = true});
}

std::string why_not_distilled(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
  return testing::error_of([&] { distilled(yaml, overrides); });
}

}  // namespace

TEST_CASE("ROLL's file of a distillation is one of ours: a student, and a teacher in the reference's place",
          "[train]") {
  const auto checked = distilled(kStudents + kOne);
  const Config& c = checked.config;
  CHECK(c.experience.is_pure_opd);
  CHECK(c.actor_train.training_args.per_device_train_batch_size == 8);
  CHECK(c.actor_infer.generating_args.temperature == 0.99);
  CHECK_FALSE((c.uses_critic() || c.uses_reference()));
  CHECK(c.teacher.at("default").opd_kl_coef == 0.25);
  CHECK(checked.num_ranks == 16);
  CHECK(checked.algorithm == "algorithm: on-policy distillation (Lu et al. 2025) from 1 teacher");
  const StepSettings step = step_settings(c);
  REQUIRE(step.forwards.passes.size() == 1);
  CHECK(step.places.roles.at("teacher").ranks.size() == 16);
  CHECK(step.places.roles.at("teacher").shape.tp == 2);
  CHECK(step.forwards.passes[0].kl_coef == 0.25);
  CHECK(step.forwards.teacher_kl.value().from_sampler);
  // What it becomes is read again as what it is, and the command line reaches it by either name.
  const auto again = distilled(resolved_yaml(c), {"teacher.opd_kl_coef=3", "student_train.infer_batch_size=5"});
  CHECK(again.config.teacher.at("default").opd_kl_coef == 3);
  CHECK(again.config.teacher.at("default").model.model_args.model_name_or_path == "big");
  CHECK(again.config.actor_train.infer_batch_size == 5);
  CHECK(distilled(kStudents + kOne, {"actor_train.infer_batch_size=7"}).config.actor_train.infer_batch_size == 7);
}

TEST_CASE("several teachers have names, and teach the domains whose tags they name", "[train]") {
  const auto checked = distilled(kStudents + kTwo, {"opd_kl_coef=0.5"});
  const Config& c = checked.config;
  CHECK(c.teacher.at("general").opd_kl_coef == 0.5);
  CHECK(c.teacher.at("general").domains.empty());
  CHECK(c.teacher.at("coder").opd_kl_coef == 2);
  CHECK(c.teacher.at("coder").domains == std::vector<std::string>{"code"});
  std::vector<std::string> names;
  for (const auto& [name, worker] : reference_roles(c)) names.push_back(name);
  CHECK(names == std::vector<std::string>{"teacher.coder", "teacher.general"});
  const std::string partial = "teacher.coder.tag_included=[dapo]";
  CHECK_THAT(why_not_distilled(kStudents + kTwo, {partial}),
             Catch::Contains("names only some tags of rewards.math_rule") && Catch::Contains("add aime"));
  CHECK(distilled(kStudents + kTwo, {"teacher.coder.tag_included=[math_rule]"}).config.teacher.at("coder").domains ==
        std::vector<std::string>{"math_rule"});
  CHECK_THAT(why_not_distilled(kStudents + kTwo, {"teacher.coder.tag_included=[kodd]"}),
             Catch::Contains("no reward has the tag or the name kodd") && Catch::Contains("did you mean 'kod'?"));
  const auto alone = distilled(kStudents + kTwo, {"~teacher.general"});
  CHECK(std::ranges::any_of(alone.notes, [](const std::string& note) {
    return note == "no teacher has a tag of rewards.math_rule: its responses have no effect";
  }));
}

TEST_CASE("the policy's log-probs of a teacher's KL are the trainer's where a step computes them to train", "[train]") {
  const auto from_sampler = [](const std::vector<std::string>& overrides) {
    return step_settings(distilled(kStudents + kOne, overrides).config).forwards.teacher_kl.value().from_sampler;
  };
  CHECK(from_sampler({}));
  CHECK(from_sampler({"dump_experience=true"}));  // what is written down changes nothing
  CHECK_FALSE(from_sampler({"enable_old_logprobs_recompute=true"}));
  CHECK_FALSE(from_sampler({"ppo_epochs=2"}));
}

TEST_CASE("what contradicts a distillation is refused", "[train]") {
  const std::string yaml = kStudents + kOne;
  CHECK_THAT(why_not_distilled(yaml, {"use_opd=true"}), Catch::Contains("use_opd = true: uses the rewards"));
  CHECK_THAT(why_not_distilled(yaml, {"is_pure_opd=false"}), Catch::Contains("distillation is off"));
  CHECK_THAT(why_not_distilled(yaml, {"adv_estimator=grpo"}),
             Catch::Contains("advantages come only from the teachers"));
  CHECK_THAT(why_not_distilled(yaml, {"use_kl_loss=true", "kl_loss_coef=0.1"}),
             Catch::Contains("use_kl_loss = true: the KL to the teachers is used"));
  CHECK_THAT(why_not_distilled(yaml, {"add_token_level_kl=true"}), Catch::Contains("the KL to the teachers is used"));
  CHECK_THAT(why_not_distilled(yaml, {"enable_reference=true"}), Catch::Contains("the KL to the teachers is used"));
  CHECK_THAT(why_not_distilled(yaml, {"pure_opd_pipeline_type=agentic"}), Catch::Contains("not episodes of agents"));
  CHECK_THAT(why_not_distilled(yaml, {"teacher.model_args.model_name_or_path=null"}),
             Catch::Contains("missing; set it to the teacher's folder"));
  CHECK_THAT(why_not_distilled(kStudents), Catch::Contains("needs a teacher"));
  CHECK_THAT(why_not_distilled(yaml + "actor_train: {device_mapping: [0]}\n"),
             Catch::Contains("student_train.device_mapping: is another name of actor_train.device_mapping"));
  CHECK_THAT(why_not_distilled(yaml, {"teacher.strategy_args.strategy_config.num_layers_in_first_pipeline_stage=2"}),
             Catch::Contains("has no effect with one stage"));
  const auto mixed = distilled(yaml, {"is_pure_opd=false", "use_opd=true", "adv_estimator=grpo"});
  CHECK_THAT(mixed.algorithm, Catch::Contains("on-policy distillation"));
}

TEST_CASE("a teacher reads the policy's tokens as they are meant", "[train]") {
  const test::TemporaryFolder folder;
  const std::string text = read_file(std::string(ROLL_SOURCE_DIR) + "/tests/golden/rollout/model/tokenizer.json");
  const auto write = [&](const std::string& name, const std::string& content) {
    std::filesystem::create_directories(folder / name);
    write_file_atomic(folder / name / "tokenizer.json", content);
  };
  write("policy", text);
  write("same", text);
  std::string other = text;
  const std::string special = "<|endoftext|>";
  for (size_t at = 0; (at = other.find(special, at)) != std::string::npos;)
    other.replace(at, special.size(), "<|other|>");
  REQUIRE(other != text);
  write("other", other);
  CHECK_NOTHROW(check_same_tokens(folder / "policy", folder / "same"));
  CHECK_THAT(
      testing::error_of([&] { check_same_tokens(folder / "policy", folder / "other"); }),
      Catch::Contains("its tokenizer differs from the policy's: token") && Catch::Contains("is \"<|other|>\", but "
                                                                                           "\"<|endoftext|>\" in"));
}

}  // namespace roll
