// One frozen base under all roles that a run has: what is held of it, and what the estimate says of that.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <sstream>

#include "checkpoint/temporary_folder.h"
#include "collect/reward_models.h"
#include "job/join.h"
#include "model/init_spec.h"
#include "optim/allocated.h"
#include "settings/load_config.h"
#include "settings/memory_estimate.h"
#include "step/step_settings.h"
#include "text/tiny_tokenizer.h"

namespace roll {

namespace {

namespace fs = std::filesystem;

/// A model, adapters of a reward model beside it, and a copy of it.
void write_models(const fs::path& folder) {
  InitSizes sizes;
  sizes.arch = "qwen2";
  sizes.hidden = 64, sizes.layers = 2, sizes.kv_heads = 2, sizes.vocab = 300;
  Transformer::init(make_spec(sizes, {}), 1).save(folder / "base");
  write_tiny_tokenizer(folder / "base", {});
  fs::copy(folder / "base", folder / "copy");
  for (const char* name : {"base", "copy"}) {
    const fs::path out = folder / (std::string("scorer_of_") + name);
    fs::create_directory(out);
    const ValueModel scorer =
        ValueModel::load(folder / name, at::kCPU, at::kFloat, {}, architectures(), LoraSpec{.rank = 4});
    scorer.write_files(out, scorer.trained());
  }
}

/// `others`: the folder of the base of critic, reference, reward model and judge.
CheckedConfig<Config> config_of(const fs::path& folder, const std::string& others) {
  const std::string text = fmt::format(
      R"yaml(
exp_name: roles
pretrain: {0}/base
reward_pretrain: {0}/{1}
max_steps: 1
rollout_batch_size: 2
num_return_sequences_in_group: 2
prompt_length: 8
response_length: 8
adv_estimator: gae
add_token_level_kl: true
actor_train:
  model_args: &adapted {{lora_rank: 4, dtype: fp32}}
  training_args: {{per_device_train_batch_size: 4, gradient_accumulation_steps: 1}}
  data_args: {{file_name: rows.jsonl, domain_interleave_probs: {{scored: 0.5, judged: 0.5}}}}
actor_infer: {{model_args: *adapted}}
critic:
  model_args: *adapted
  training_args: {{per_device_train_batch_size: 4, gradient_accumulation_steps: 1}}
reference: {{model_args: {{dtype: fp32, model_name_or_path: "{0}/{1}"}}}}
rewards:
  scored: {{type: reward_model, model_args: {{dtype: fp32, model_name_or_path: "{0}/scorer_of_{1}"}}}}
  judged: {{type: llm_judge, judge_model_type: inference, judge_score_pattern: "([0-9])",
           judge_score_max: 9, model_args: {{dtype: fp32, model_name_or_path: "{0}/{1}"}}}}
)yaml",
      folder.string(), others);
  return load_config_text(text, "roles.yaml", {}, {.num_ranks = 1, .offline = true});
}

/// Bytes that all models of a run hold, and the estimate of them: as on a GPU, whose sampler has no copy of its own.
std::pair<double, double> held_and_estimated(const CheckedConfig<Config>& checked) {
  const Config& config = checked.config;
  std::ostringstream out;
  Log log(out, out, {});
  const std::unique_ptr<Communicator> alone = make_communicator({.kind = Transport::kSingle});
  Meshes meshes(*alone);
  const StepSettings settings = step_settings(config);
  const RoleMeshes mesh_of = role_meshes(settings.places, meshes);
  test::Allocated allocated;
  const Roles roles = make_roles(models_in(role_sources(config, at::kCPU)), settings.places, mesh_of, at::kCPU);
  const RewardModels judges(judging_models(config), 1, meshes, at::kCPU, roles, log);
  return {static_cast<double>(allocated.live()), estimate_memory(config, checked.models.value(), true, 0).weights};
}

}  // namespace

TEST_CASE("policy, reference, critic, reward model and judge of one folder hold its weights once, as is estimated",
          "[train]") {
  const test::TemporaryFolder folder;
  write_models(folder.path());
  const auto one = config_of(folder.path(), "base"), copies = config_of(folder.path(), "copy");
  const auto [held, estimated] = held_and_estimated(one);
  const auto [held_apart, estimated_apart] = held_and_estimated(copies);
  const auto base = 4.0 * static_cast<double>(policy_shape(*one.models).num_parameters());
  CHECK(held == Approx(estimated).epsilon(0.03));
  CHECK(held_apart == Approx(estimated_apart).epsilon(0.03));
  CHECK(held < 1.5 * base);  // the rest are adapters and heads
  CHECK(held_apart == Approx(held + 4 * base).epsilon(0.05));
}

}  // namespace roll
