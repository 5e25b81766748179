#include "preview/new_run.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "config/writer.h"

namespace roll {

namespace {

constexpr int64_t kGroupSize = 8;                      // responses per prompt
constexpr int64_t kSftRows = 32;                       // rows per fine-tuning update, if there are enough
constexpr int64_t kLengthMultiple = 32;                // lengths are rounded up to a multiple
constexpr int64_t kTinyModelParameters = 100'000'000;  // such models are toys that learn from high rates
constexpr double kRateOfLarge = 1e-6, kParametersOfLarge = 1.5e9, kMostTimesRate = 20;

int64_t rounded_up(int64_t n, int64_t step) {
  return (n + step - 1) / step * step;
}

/// Returns a length in tokens, rounded up, that fits nearly all sequences; a few outliers must not inflate every step.
int64_t choose_length(const LengthSummary& lengths, bool wants_all = false) {
  const bool keeps_all = wants_all || lengths.max * 2 <= lengths.p99 * 3;
  return rounded_up(std::max<int64_t>(keeps_all ? lengths.max : lengths.p99, 1), kLengthMultiple);
}

/// Returns a rate with one digit: smaller models need larger ones.
double choose_learning_rate(const ModelSpec& spec) {
  if (spec.num_parameters() < kTinyModelParameters) return 1e-4;
  const double times = kParametersOfLarge / static_cast<double>(spec.num_parameters());
  const double rate = kRateOfLarge * std::clamp(times, 1.0, kMostTimesRate);
  const double digit = std::pow(10, std::floor(std::log10(rate)));
  return std::round(rate / digit) * digit;
}

/// Returns the type of the weights. Tiny models gain little by bfloat16.
const char* choose_dtype(const NewRun& run, const ModelSpec& spec) {
  const bool is_tiny = spec.num_parameters() < kTinyModelParameters;
  return run.on_gpu || (run.has_fast_bf16 && !is_tiny) ? "bf16" : "fp32";
}

/// Values derived from model, rows and devices.
struct Sizes {
  int64_t prompt_length, response_length;  // tokens
  int64_t num_prompts, update_size;        // prompts per step; sequences per update
  double learning_rate;
  const char* dtype;
};

/// Two updates per step; every data rank gets whole prompts.
Sizes choose_sizes(const NewRun& run, const ModelSpec& spec, const NewLayout& layout) {
  const int64_t data_ranks = std::max<int64_t>(1, run.num_devices / layout.tensor_ranks);
  const int64_t unit = 2 * data_ranks, wanted_prompts = std::min(std::max(run.prompts_per_step, unit), run.num_rows);
  Sizes sizes{};
  sizes.prompt_length = choose_length(run.prompts, run.keeps_all);
  const int64_t positions = for_length(spec, sizes.prompt_length + 1).max_positions;
  sizes.response_length = std::min<int64_t>(run.on_gpu ? 2048 : 256, positions - sizes.prompt_length);
  if (sizes.response_length < 1)
    throw user_error("--model = {}: its {} positions leave no room for a response after prompts of {} tokens",
                     run.model, positions, sizes.prompt_length);
  sizes.num_prompts = std::max(wanted_prompts / unit, int64_t{1}) * unit;
  sizes.update_size = sizes.num_prompts * kGroupSize / 2;
  sizes.learning_rate = choose_learning_rate(spec);
  sizes.dtype = choose_dtype(run, spec);
  return sizes;
}

std::string devices_text(const NewRun& run) {
  const char* const device_word = run.on_gpu ? "GPU" : "CPU process";
  return fmt::format("{} {}{}", run.num_devices, device_word, run.num_devices == 1 ? "" : run.on_gpu ? "s" : "es");
}

/// Returns the flags after the command that starts the run.
std::string ranks_flag(const NewRun& run) {
  return run.on_gpu || run.num_devices == 1 ? "" : fmt::format(" -n {}", run.num_devices);
}

std::string head_text(const NewRun& run, const ModelSpec& spec, const Sizes& sizes) {
  const double passes = static_cast<double>(200 * sizes.num_prompts) / static_cast<double>(run.num_rows);
  return fmt::format(
      R"(# {} with the reward {}, on {}. Written by `roll new`; edit it as you like.
#
# start     roll train --config {}/config.yaml{}
# check     roll validate-config --config ... prints what the run would do; `roll explain KEY` explains a key

exp_name: {}
output_dir: {}  # metrics, responses and checkpoints of the run
pretrain: {}  # {:.3g} M parameters
max_steps: 200  # with {} prompts each, {:.2g} passes over your {} rows
save_steps: 50
{}
)",
      enum_name(run.algorithm), run.reward, devices_text(run), run.folder, ranks_flag(run),
      yaml_text(std::filesystem::path(run.folder).filename().string()), yaml_text(run.output_dir), yaml_text(run.model),
      static_cast<double>(spec.num_parameters()) / 1e6, sizes.num_prompts, passes, run.num_rows,
      run.validation ? "eval_steps: 10  # steps between validations\n" : "");
}

std::string sizes_text(const NewRun& run, const Sizes& sizes) {
  return fmt::format(
      R"(# {} x {} = {} responses per step, used in two updates.
rollout_batch_size: {}  # prompts per step; more prompts make steps steadier and slower
num_return_sequences_in_group: {}  # responses per prompt; they are compared with each other, so they must differ
prompt_length: {}  # tokens; half of your prompts have at most {}, 99 % at most {}, the longest has {}; longer ones are dropped
response_length: {}  # tokens; longer responses are cut. Raise this if rollout/truncated_ratio is not small

)",
      sizes.num_prompts, kGroupSize, sizes.num_prompts * kGroupSize, sizes.num_prompts, kGroupSize, sizes.prompt_length,
      run.prompts.p50, run.prompts.p99, run.prompts.max, sizes.response_length);
}

const char* algorithm_text(NewAlgorithm algorithm) {
  switch (algorithm) {
    case NewAlgorithm::kGrpo:
      return R"(# GRPO: the advantage of a response is its reward minus its group's mean, divided by the group's deviation.
adv_estimator: grpo
pg_clip: 0.2  # limits how far an update may change a token's probability
loss_agg_mode: seq-mean-token-mean
# use_kl_loss: true  # keeps the policy near its initial weights, and needs memory for a second model

)";
    case NewAlgorithm::kPpo:
      return R"(# PPO: a critic predicts the reward to come at each token; it starts as the policy with a zero value head.
adv_estimator: gae
gamma: 1.0
lambd: 1.0
whiten_advantages: true
critic_warmup: 5  # number of first steps that train only the critic
pg_clip: 0.2  # limits how far an update may change a token's probability
value_clip: 0.5
loss_agg_mode: token-mean

)";
    case NewAlgorithm::kReinforce:
      return R"(# REINFORCE: the advantage is the reward minus the group's mean, divided by the deviation of the whole step.
adv_estimator: reinforce
norm_mean_type: group
norm_std_type: batch
pg_clip: 0.2  # limits how far an update may change a token's probability
loss_agg_mode: token-mean

)";
  }
  throw Bug("an algorithm without keys");
}

/// Packing and placement keys of a trained role; `length` tokens must fit into a micro-batch.
std::string packing_text(const NewRun& run, int64_t length) {
  std::string text = fmt::format(
      R"(  use_sequence_packing: true  # puts sequences one after another, without padding
  sequence_packing_args:
    max_packed_sequence_length_train: {}  # tokens of a micro-batch; more are faster and need more memory
    max_packed_sequence_length_forward: {}
)",
      std::max<int64_t>(run.on_gpu ? 8192 : 4096, length), std::max<int64_t>(run.on_gpu ? 16384 : 8192, length));
  if (run.on_gpu) text += fmt::format("  device_mapping: list(range(0,{}))\n", run.num_devices);
  return text;
}

/// Keys of a trained role.
std::string trained_text(const NewRun& run, const Sizes& sizes, double learning_rate) {
  return fmt::format(
             R"(  training_args:
    learning_rate: {:.1e}  # too high: rewards rise, then collapse; too low: rewards do not change
    train_batch_size: {}  # sequences of an update, on any number of ranks
    lr_scheduler_type: constant_with_warmup
    warmup_steps: 5
    weight_decay: 0
)",
             learning_rate, sizes.update_size) +
         packing_text(run, sizes.prompt_length + sizes.response_length);
}

std::string tensor_ranks_text(const NewLayout& layout) {
  if (layout.tensor_ranks == 1) return "";
  return fmt::format(
      "  strategy_args:\n    strategy_config:\n      tensor_model_parallel_size: {}  # devices that share one model\n",
      layout.tensor_ranks);
}

/// `has_roll_columns`: the rows use roll's own column names.
std::string data_text(const NewRun& run, bool has_roll_columns = false) {
  std::string text = "  data_args:\n    file_name:\n";
  for (const std::string& file : run.data) text += fmt::format("      - {}\n", yaml_text(file));
  if (run.layout)
    text += fmt::format("    {}\n", to_text(*run.layout, "\n    "));
  else if (!has_roll_columns)
    text += run.has_messages ? "    messages: messages  # column of {role, content} lists\n"
                             : "    prompt: prompt  # column of raw text\n";
  if (run.chat_template)
    text += fmt::format("    template: {}  # chat template; the model has none\n", *run.chat_template);
  return text;
}

std::string roles_text(const NewRun& run, const Sizes& sizes, const NewLayout& layout) {
  const char* const dtype = sizes.dtype;
  std::string text = "actor_train:\n" + fmt::format("  model_args: {{dtype: {}}}\n", dtype) + data_text(run) +
                     trained_text(run, sizes, sizes.learning_rate) + tensor_ranks_text(layout);
  text += fmt::format(
      "\nactor_infer:\n  model_args: {{dtype: {}}}\n  generating_args: {{temperature: 1.0, top_p: 1.0, top_k: 0}}  # "
      "the policy's own distribution, which training assumes\n",
      dtype);
  text += tensor_ranks_text(layout);
  if (run.algorithm == NewAlgorithm::kPpo)
    text += fmt::format("\ncritic:\n  model_args: {{dtype: {}}}\n", dtype) +
            trained_text(run, sizes, 10 * sizes.learning_rate) + tensor_ranks_text(layout);
  return text;
}

std::string rewards_text(const NewRun& run) {
  std::string text = "\nrewards:\n";
  for (const std::string& domain : run.domains.empty() ? std::vector{run.reward_domain()} : run.domains)
    text += fmt::format("  {}:\n    {}: {}\n", yaml_text(domain), python_reward(run.reward) ? "python" : "type",
                        yaml_text(run.reward));
  if (!run.validation) return text;
  return text + fmt::format("\nvalidation:\n  data_args:\n    file_name: {}\n  generating_args: {{temperature: 0}}\n",
                            yaml_text(*run.validation));
}

std::string sft_head_text(const NewRun& run, const ModelSpec& spec) {
  return fmt::format(
      R"(# Supervised fine-tuning, on {}. Written by `roll new --sft`; edit it as you like.
#
# start     roll sft --config {}/config.yaml{}
# check     roll validate-config --config ... prints what the run would do; `roll explain KEY` explains a key
# next      reinforcement learning from this model: pretrain: {}/checkpoints/latest/actor

exp_name: {}
output_dir: {}  # metrics and checkpoints of the run
pretrain: {}  # {:.3g} M parameters
num_train_epochs: 3  # passes over your {} rows
save_steps: 0  # updates between checkpoints; 0: only at the end
)",
      devices_text(run), run.folder, ranks_flag(run), run.output_dir,
      yaml_text(std::filesystem::path(run.folder).filename().string()), yaml_text(run.output_dir), yaml_text(run.model),
      static_cast<double>(spec.num_parameters()) / 1e6, run.num_rows);
}

}  // namespace

std::optional<PythonName> python_reward(const std::string& reward) {
  return reward.find(".py:") == std::string::npos ? std::nullopt : std::optional(parse_python_name(reward, "--reward"));
}

std::string NewRun::reward_domain() const {
  const auto function = python_reward(reward);
  return function ? function->name : reward;
}

std::string new_sft_config(const NewRun& run, const ModelSpec& spec) {
  const int64_t length = std::min<int64_t>(choose_length(run.prompts), spec.most_positions());
  const int64_t rows_per_device = std::max<int64_t>(1, std::min(kSftRows, run.num_rows) / run.num_devices);
  std::string text = sft_head_text(run, spec);
  text += fmt::format(
      R"(sequence_length: {}  # tokens; half of your rows have at most {}, 99 % at most {}, the longest has {}; longer ones are dropped

sft_train:
  model_args: {{dtype: {}}}
{}  training_args:
    learning_rate: {:.1e}  # too high: the loss jumps; too low: the loss hardly changes
    train_batch_size: {}  # rows of an update, on any number of ranks
    lr_scheduler_type: cosine
    warmup_ratio: 0.03
    weight_decay: 0
)",
      length, run.prompts.p50, run.prompts.p99, run.prompts.max, choose_dtype(run, spec),
      data_text(run, /*has_roll_columns=*/true), spec.num_parameters() < kTinyModelParameters ? 1e-3 : 1e-5,
      rows_per_device * run.num_devices);
  text += packing_text(run, length);
  if (run.validation)
    text += fmt::format(
        "\nvalidation:  # runs at the end; eval_steps: 50 also runs it every 50 updates\n  data_args:\n    file_name: "
        "{}\n",
        yaml_text(*run.validation));
  return text;
}

std::vector<NewLayout> suggest_layouts(const NewRun& run, const ModelSpec& spec) {
  std::vector<NewLayout> layouts;
  for (int64_t ranks = 1; ranks <= run.num_devices; ranks *= 2) {
    if (run.num_devices % ranks != 0 || spec.num_heads % ranks != 0 || spec.num_kv_heads % ranks != 0) continue;
    layouts.push_back({.tensor_ranks = ranks, .offload = false});
    if (run.on_gpu) layouts.push_back({.tensor_ranks = ranks, .offload = true});
  }
  return layouts;
}

std::string new_config(const NewRun& run, const ModelSpec& spec, const NewLayout& layout) {
  const Sizes sizes = choose_sizes(run, spec, layout);
  const char* const offload = "offload: true  # keeps the state of training in host memory while the GPUs sample\n\n";
  return head_text(run, spec, sizes) + sizes_text(run, sizes) + algorithm_text(run.algorithm) +
         (layout.offload ? offload : "") + roles_text(run, sizes, layout) + rewards_text(run);
}

}  // namespace roll
