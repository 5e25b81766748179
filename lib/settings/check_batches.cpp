#include <numeric>

#include "loss/aggregate.h"
#include "packing/alignment.h"
#include "settings/agentic.h"
#include "settings/checks.h"
#include "settings/placement.h"

namespace roll {

namespace {

constexpr int64_t kMaxSequences = 1 << 22;  // per step; each rank holds every sequence

/// Returns "; try 64 or 128": the multiples of `unit` around `value`.
std::string nearest_multiples(int64_t value, int64_t unit) {
  const int64_t below = value / unit * unit;
  return below > 0 ? fmt::format("; try {} or {}", below, below + unit) : fmt::format("; try {}", unit);
}

/// Returns the mini-batch and its key, "16 (actor_train.training_args.train_batch_size)", or the product that gives it.
std::string mini_batch_text(const WorkerConfig& worker, const Checker& check) {
  const TrainingArgs& args = worker.training_args;
  if (args.train_batch_size) return fmt::format("{} ({})", worker.mini_batch(), check.key(args.train_batch_size));
  return fmt::format("{} ({} = {} x {} = {} x {} data-parallel ranks)", worker.mini_batch(),
                     check.key(args.per_device_train_batch_size), args.per_device_train_batch_size,
                     check.key(args.gradient_accumulation_steps), args.gradient_accumulation_steps,
                     worker.data_ranks());
}

/// Checks train_batch_size; returns true if the mini-batch size is valid.
bool check_train_batch(const WorkerConfig& worker, Checker& check) {
  const TrainingArgs& args = worker.training_args;
  if (!args.train_batch_size) return true;
  const bool is_divisible =
      check.require(*args.train_batch_size % worker.data_ranks() == 0, args.train_batch_size,
                    "must be a multiple of the {} data-parallel ranks that share it{}", worker.data_ranks(),
                    nearest_multiples(*args.train_batch_size, worker.data_ranks()));
  return check.require(args.gradient_accumulation_steps == 1, args.gradient_accumulation_steps,
                       "{} already sets the size of an update; remove this key, or set train_batch_size to null",
                       check.name(args.train_batch_size)) &&
         is_divisible;
}

void check_schedule(const TrainingArgs& args, Checker& check) {
  const LrSchedule schedule{
      .type = args.lr_scheduler_type, .peak_lr = args.learning_rate, .args = args.lr_scheduler_kwargs};
  check.collect(args.lr_scheduler_kwargs, [&] { schedule.check_args(); });
}

void check_mini_batch(const Config& config, const WorkerConfig& worker, Checker& check) {
  check_schedule(worker.training_args, check);
  if (!check_train_batch(worker, check)) return;
  const int64_t mini_batch = worker.mini_batch();
  const int64_t group = config.num_return_sequences_in_group;
  const int64_t unit = mini_batch / std::gcd(mini_batch, group);
  check.require(config.sequences_per_step() % mini_batch == 0, config.rollout_batch_size,
                "{} prompts x {} responses = {} sequences must be a multiple of the mini-batch of {}{}",
                config.prompts_per_step(), group, config.sequences_per_step(), mini_batch_text(worker, check),
                nearest_multiples(config.rollout_batch_size, config.agentic.is_used() ? unit * group : unit));
}

/// Notes that batch sizes per rank make the run depend on the number of ranks, if -n or the hosts decide that number.
void note_per_device(const WorkerConfig& worker, Checker& check) {
  const TrainingArgs& args = worker.training_args;
  const int64_t ranks = worker.data_ranks(), rank_batch = worker.mini_batch_per_rank();
  if (args.train_batch_size || worker.device_mapping || ranks == 1) return;
  check.note(
      fmt::format("{}: counts for each of {} data-parallel ranks, so an update has {} sequences instead of the {} of "
                  "one rank, and there are {} times fewer updates, which changes the result. For the same updates on "
                  "any number of ranks, set {} = {} and remove {}",
                  check.name(args.per_device_train_batch_size), ranks, worker.mini_batch(), rank_batch, ranks,
                  check.key(args.train_batch_size), rank_batch, check.key(args.gradient_accumulation_steps)));
}

void check_whole_groups(const Config& config, Checker& check) {
  const LossConfig& loss = config.loss;
  if (!needs_whole_groups(loss_modes(loss))) return;
  const TrainingArgs& args = config.actor_train.training_args;
  const int64_t mini_batch = config.actor_train.mini_batch();
  const int64_t group = config.num_return_sequences_in_group;
  const std::string rule = fmt::format(
      "prompt-mean keeps the {0} responses of a prompt in one update, so the mini-batch of {1} sequences must be a "
      "multiple of {0}; change {2}",
      group, mini_batch,
      args.train_batch_size ? check.key(args.train_batch_size)
                            : fmt::format("{} x {}", check.key(args.per_device_train_batch_size),
                                          check.key(args.gradient_accumulation_steps)));
  if (loss.loss_aggregation)
    check.require(mini_batch % group == 0, loss.loss_aggregation, "{}", rule);
  else
    check.require(mini_batch % group == 0, loss.loss_agg_mode, "{}", rule);
}

/// Checks that a token budget holds the longest sequence. `is_needed`: no other rule cuts micro-batches.
void check_budget(const std::optional<int64_t>& budget, const LongestSequence& longest, bool packs, bool is_needed,
                  const StrategyConfig& strategy, const std::string& packing_key, Checker& check) {
  if (!packs) return;
  if (!budget && !is_needed)
    return check.note(fmt::format("{}: {} is not set, so micro-batches have as many sequences as without packing",
                                  packing_key, check.key(budget)));
  const int64_t alignment = sequence_alignment(strategy.context_parallel(), strategy.tensor_parallel());
  const int64_t needed = longest.contexts * aligned_length(longest.tokens, alignment);
  if (check.require(budget.has_value(), budget,
                    "{} needs a number of tokens per micro-batch; set this key to {} or more ({})", packing_key, needed,
                    longest.name))
    check.require(*budget >= needed, budget, "cannot hold one sequence of {} tokens ({}); set it to {} or more", needed,
                  longest.name, needed);
}

}  // namespace

void check_packing(const WorkerConfig& worker, const LongestSequence& longest, bool trains, bool forwards,
                   Checker& check) {
  const PackingArgs& packing = worker.packing;
  const SequencePackingArgs& args = packing.sequence_packing_args;
  for (const bool* dynamic : {&packing.use_dynamic_batching_in_train, &packing.use_dynamic_batching_in_infer})
    if (!check.require(!*dynamic || !packing.use_sequence_packing, *dynamic,
                       "{} is another spelling of a token budget; keep one of the two",
                       check.name(packing.use_sequence_packing)))
      return;
  const std::string packing_key = check.name(packing.use_sequence_packing);
  const auto& layout = worker.strategy_args.strategy_config;
  const bool balances = args.algorithm == PackAlgorithm::kLoadBalance;  // otherwise cuts as without packing
  if (trains) {
    check_budget(args.max_packed_sequence_length_train, longest, packing.use_sequence_packing, balances, layout,
                 packing_key, check);
    check_budget(packing.max_tokens_per_microbatch_in_train, longest, packing.use_dynamic_batching_in_train,
                 /*is_needed=*/true, layout, check.name(packing.use_dynamic_batching_in_train), check);
  }
  if (forwards) {
    check_budget(args.max_packed_sequence_length_forward, longest, packing.use_sequence_packing, balances, layout,
                 packing_key, check);
    check_budget(packing.max_tokens_per_microbatch_in_infer, longest, packing.use_dynamic_batching_in_infer,
                 /*is_needed=*/true, layout, check.name(packing.use_dynamic_batching_in_infer), check);
  }
}

void check_sft_batch(const WorkerConfig& worker, Checker& check) {
  check_schedule(worker.training_args, check);
  check_train_batch(worker, check);
  note_per_device(worker, check);
}

void check_batches(const Config& config, Checker& check) {
  check.require(!config.num_train_epochs || !config.rollout_replay, config.num_train_epochs,
                "counts passes over rows, but rollout_replay reads no rows; set max_steps");
  if (!check.require(config.sequences_per_step() <= kMaxSequences, config.rollout_batch_size,
                     "{} prompts x {} responses = {} sequences; a step holds at most {}", config.prompts_per_step(),
                     config.num_return_sequences_in_group, config.sequences_per_step(), kMaxSequences))
    return;
  if (!config.trains()) return;
  for (const auto& [name, worker] : trained_roles(config)) check_mini_batch(config, *worker, check);
  check_whole_groups(config, check);
  for (const auto& [name, worker] : trained_roles(config)) note_per_device(*worker, check);
  if (!config.sequence_length) return;
  const int64_t contexts = most_contexts(config);
  const LongestSequence longest{
      *config.sequence_length,
      check.name(config.sequence_length) + (contexts > 1 ? fmt::format(" for each of {} turns", contexts) : ""),
      contexts};
  for (const auto& [name, worker] : trained_roles(config)) check_packing(*worker, longest, true, true, check);
  for (const auto& [name, worker] : reference_roles(config)) check_packing(*worker, longest, false, true, check);
}

}  // namespace roll
