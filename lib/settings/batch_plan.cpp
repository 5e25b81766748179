#include "settings/batch_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "experience/build.h"
#include "packing/alignment.h"
#include "packing/shared_prompts.h"
#include "pipeline/schedule.h"
#include "pipeline/split_rule.h"
#include "settings/agentic.h"
#include "settings/by_role.h"
#include "settings/placement.h"

namespace roll {

namespace {

/// Returns "1 update", "2 updates", "3 micro-batches".
std::string count(int64_t n, std::string_view noun) {
  const bool adds_es = noun.ends_with("s") || noun.ends_with("ch");
  if (n != 1 && noun.ends_with("y")) return fmt::format("{} {}ies", n, noun.substr(0, noun.size() - 1));
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : adds_es ? "es" : "s");
}

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

/// Returns "; each of 4 stages idles about 27 % of an update", or "" without a pipeline. `max_micro_batches`:
/// micro-batches per update; if packed, their upper bound.
std::string bubble_text(const WorkerConfig& worker, int64_t max_micro_batches) {
  const StrategyConfig& strategy = worker.strategy_args.strategy_config;
  const PipelineShape shape{strategy.pipeline_parallel(), num_chunks(strategy)};
  if (shape.num_stages == 1) return "";
  const bool is_lower_bound =
      worker.packing.budget(/*trains=*/true) || (shape.num_chunks > 1 && max_micro_batches % shape.num_stages != 0);
  return fmt::format("; each of {} stages{} idles {} {:.0f} % of an update", shape.num_stages,
                     shape.num_chunks == 1 ? "" : fmt::format(" with {} chunks of layers", shape.num_chunks),
                     is_lower_bound ? "at least" : "about", 100 * bubble_share(shape, max_micro_batches));
}

/// Returns "at most 13 micro-batches of 8192 tokens" or "4 micro-batches of 8 sequences".
std::string micro_batches(int64_t sequence_length, const WorkerConfig& worker, const char* unit = "sequence") {
  const auto budget = worker.packing.budget(/*trains=*/true);
  if (!budget) {
    const int64_t num_micro_batches = ceil_div(worker.mini_batch_per_rank(), worker.micro_batch());
    return fmt::format("{} of {} each per rank{}", count(num_micro_batches, "micro-batch"),
                       count(worker.micro_batch(), unit), bubble_text(worker, num_micro_batches));
  }
  // Sequences are not split, so full-length ones may leave part of the budget unused.
  const int64_t sequences_per_budget = std::max<int64_t>(1, *budget / sequence_length);
  const int64_t max_micro_batches = ceil_div(worker.mini_batch_per_rank(), sequences_per_budget);
  return fmt::format("at most {} of {} tokens each per rank{}", count(max_micro_batches, "micro-batch"), *budget,
                     bubble_text(worker, max_micro_batches));
}

/// Returns "2 data-parallel ranks x 2 stages x 2 context x 4 tensor".
std::string layout(const WorkerConfig& worker) {
  const StrategyConfig& strategy = worker.strategy_args.strategy_config;
  std::string text = count(worker.data_ranks(), "data-parallel rank");
  if (strategy.pipeline_parallel() > 1) text += fmt::format(" x {} stages", strategy.pipeline_parallel());
  if (strategy.context_parallel() > 1) text += fmt::format(" x {} context", strategy.context_parallel());
  if (strategy.tensor_parallel() > 1) text += fmt::format(" x {} tensor", strategy.tensor_parallel());
  return text;
}

std::string role_plan(const std::string& role, const Config& config, const WorkerConfig& worker) {
  const int64_t mini_batch = worker.mini_batch();
  return fmt::format("{}: {} of {} a step, {}", role, count(updates_per_step(config, worker), "update"),
                     count(mini_batch, "sequence"),
                     micro_batches(most_contexts(config) * config.sequence_length.value(), worker));
}

}  // namespace

int64_t updates_per_step(const Config& config, const WorkerConfig& worker) {
  return config.ppo_epochs * std::max<int64_t>(1, config.sequences_per_step() / worker.mini_batch());
}

OldLogProbReasons old_log_prob_reasons(const Config& config) {
  return {.several_updates = updates_per_step(config, config.actor_train) > 1,
          .kl_in_reward = config.experience.penalises_kl(),
          .correction = config.experience.train_infer_correction.is_enabled(),
          .energies = config.experience.adv_estimator->reads_energies && !config.experience.is_pure_opd,
          .dump = config.dump_experience,
          .dropout = config.actor_train.model_args.lora_dropout > 0};
}

int64_t count_steps(const Config& config, int64_t num_rows) {
  if (config.max_steps) return *config.max_steps;
  const int64_t epochs = config.num_train_epochs.value(), steps = num_rows * epochs / config.prompts_per_step();
  if (steps > 0) return steps;
  throw user_error(
      "num_train_epochs = {}: {} rows x {} are fewer than a step of {}; lower rollout_batch_size or add rows", epochs,
      num_rows, epochs, config.prompts_per_step());
}

std::string batch_plan(const Config& config) {
  std::string text = fmt::format(
      "{} x {} = {} a step; {}; {}\n", count(config.prompts_per_step(), config.agentic.is_used() ? "level" : "prompt"),
      count(config.num_return_sequences_in_group, config.agentic.is_used() ? "trajectory" : "response"),
      count(config.sequences_per_step(), "sequence"), layout(config.actor_train),
      config.max_steps ? count(*config.max_steps, "step")
                       : fmt::format("{} over the rows", count(*config.num_train_epochs, "pass")));
  if (config.experience.adv_estimator->samples_baseline)
    text += fmt::format("{} in addition, one per prompt; only their rewards are used\n",
                        count(config.prompts_per_step(), "greedy response"));
  if (!config.trains()) return text + "samples only, without training: rollout_only = true";
  const char* separator = "";
  for (const auto& [name, worker] : trained_roles(config))
    text += fmt::format("{}{}", std::exchange(separator, "\n"), role_plan(name, config, *worker));
  return text;
}

std::string sft_plan(const RowConfig& config) {
  const int64_t mini_batch = config.trained.mini_batch();
  const std::string length = config.max_steps ? count(*config.max_steps, "update")
                                              : fmt::format("{} over the data", count(config.num_train_epochs, "pass"));
  const bool has_pairs = config.kind == "dpo";
  return fmt::format(
      "{}: {}; {} an update; {}; {}", config.trained_key, length, count(mini_batch, has_pairs ? "pair" : "sequence"),
      layout(config.trained),
      micro_batches((has_pairs ? 2 : 1) * config.sequence_length, config.trained, has_pairs ? "pair" : "sequence"));
}

FullMicroBatch full_micro_batch(const Config& config, const WorkerConfig& worker, const Workload& workload,
                                bool trains) {
  const StrategyConfig& layout = worker.strategy_args.strategy_config;
  const int64_t context_length = config.sequence_length.value_or(0), contexts = most_contexts(config);
  const int64_t length = contexts * context_length, group = config.num_return_sequences_in_group;
  const int64_t sequences = trains ? worker.micro_batch() : worker.infer_batch_size;
  const std::optional<int64_t> budget = worker.packing.budget(trains);
  const int64_t tokens = budget.value_or(sequences * length);
  const bool has_whole_groups = config.prompts_per_step() % worker.data_ranks() == 0 &&
                                (!trains || worker.mini_batch() == config.sequences_per_step());
  if (group < 2 || !has_whole_groups) return {tokens, tokens};
  const int64_t alignment = sequence_alignment(layout.context_parallel(), layout.tensor_parallel());
  SequenceSizes sizes(std::vector<int64_t>(group, length), std::vector<int64_t>(group, 0),
                      std::vector<int64_t>(group, config.prompt_length));
  if (contexts > 1) sizes.contexts.assign(group, std::vector<int64_t>(contexts, context_length));
  if (!shares_prompts(sizes, worker.packing.share_prompts, alignment, workload)) return {tokens, tokens};
  const int64_t shared = shared_tokens(config.prompt_length, alignment);
  const auto count_groups = [group](int64_t n) { return (n + group - 1) / group; };
  if (budget) {
    const int64_t num_sequences = std::max<int64_t>(1, (tokens - shared) / (length - shared));
    return {tokens, tokens + (num_sequences - count_groups(num_sequences)) * shared};
  }
  // Micro-batches take consecutive sequences and may begin within a group.
  const bool is_even = sequences % group == 0 || group % sequences == 0;
  const int64_t num_groups = is_even ? count_groups(sequences) : (sequences - 2) / group + 2;
  return {tokens - (sequences - num_groups) * shared, tokens};
}

}  // namespace roll
