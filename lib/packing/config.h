// Configuration keys of sequence packing. They say how a rank's part of a mini-batch (the sequences of one update) is
// split into micro-batches (the sequences of one forward and backward). micro_batches.h makes the split.
#pragma once

#include <cstdint>
#include <optional>

#include "base/names.h"
#include "config/keys.h"

namespace roll {

/// Key algorithm: kNone fills micro-batches in the given order of sequences, kLoadBalance so that all have nearly equal
/// work.
enum class PackAlgorithm { kNone, kLoadBalance };
constexpr auto enum_names(PackAlgorithm) {
  return std::to_array<Named<PackAlgorithm>>(
      {{PackAlgorithm::kNone, "none"}, {PackAlgorithm::kLoadBalance, "load_balance"}});
}

/// Key share_prompts: whether the common beginning of a micro-batch's sequences is computed only once. kAuto: if that
/// saves at least 5 % of the work.
enum class SharePrompts { kFalse, kTrue, kAuto };
constexpr auto enum_names(SharePrompts) {
  return std::to_array<Named<SharePrompts>>(
      {{SharePrompts::kFalse, "false"}, {SharePrompts::kTrue, "true"}, {SharePrompts::kAuto, "auto"}});
}

/// Key sequence_packing_args, for use_sequence_packing.
struct SequencePackingArgs {
  PackAlgorithm algorithm = PackAlgorithm::kNone;
  std::optional<int64_t> max_packed_sequence_length_train;
  std::optional<int64_t> max_packed_sequence_length_forward;
  int64_t min_num_micro_batches_train = 1;
  int64_t min_num_micro_batches_forward = 1;

  void fields(Keys& v) {
    v("algorithm", algorithm, "none: sequences in the given order; load_balance: micro-batches of equal work");
    v("max_packed_sequence_length_train", max_packed_sequence_length_train, "tokens of a training micro-batch",
      token_range());
    v("max_packed_sequence_length_forward", max_packed_sequence_length_forward, "tokens of a log-prob micro-batch",
      token_range());
    v("min_num_micro_batches_train", min_num_micro_batches_train, "at least this many training micro-batches",
      sequence_range());
    v("min_num_micro_batches_forward", min_num_micro_batches_forward, "at least this many log-prob micro-batches",
      sequence_range());
  }
};

/// The packing keys of a role, such as actor_train.
struct PackingArgs {
  bool use_sequence_packing = false;
  SequencePackingArgs sequence_packing_args;
  bool use_dynamic_batching_in_train = false;
  std::optional<int64_t> max_tokens_per_microbatch_in_train;
  bool use_dynamic_batching_in_infer = false;
  std::optional<int64_t> max_tokens_per_microbatch_in_infer;
  SharePrompts share_prompts = SharePrompts::kAuto;

  /// Returns the token budget of a micro-batch, in training (`trains`) or for log-probs; nullopt if no key sets one,
  /// and a micro-batch is a fixed number of sequences.
  std::optional<int64_t> budget(bool trains) const {
    const SequencePackingArgs& packing = sequence_packing_args;
    if (use_sequence_packing)
      return trains ? packing.max_packed_sequence_length_train : packing.max_packed_sequence_length_forward;
    if (trains && use_dynamic_batching_in_train) return max_tokens_per_microbatch_in_train;
    if (!trains && use_dynamic_batching_in_infer) return max_tokens_per_microbatch_in_infer;
    return std::nullopt;
  }

  /// Declares the keys, each with a help text (config/keys.h). `trains`: they belong to a role that is trained.
  void fields(Keys& v, bool trains) {
    v("use_sequence_packing", use_sequence_packing, "micro-batches hold as many sequences as fit a token budget",
      may_change());
    v("sequence_packing_args", sequence_packing_args, "budget and algorithm of packing", may_change());
    const auto only_if_packing = [&](const auto& member, bool has_effect) {
      v.only_if(member, has_effect || use_sequence_packing, use_sequence_packing);
    };
    only_if_packing(sequence_packing_args.algorithm, false);
    only_if_packing(sequence_packing_args.max_packed_sequence_length_forward, false);
    only_if_packing(sequence_packing_args.min_num_micro_batches_forward, false);
    only_if_packing(sequence_packing_args.max_packed_sequence_length_train, !trains);
    only_if_packing(sequence_packing_args.min_num_micro_batches_train, !trains);
    v("use_dynamic_batching_in_train", use_dynamic_batching_in_train,
      "fill training micro-batches up to a token budget; another spelling of use_sequence_packing", may_change());
    v("max_tokens_per_microbatch_in_train", max_tokens_per_microbatch_in_train, "tokens of a training micro-batch",
      token_range(), may_change(), only_if(!trains || use_dynamic_batching_in_train, use_dynamic_batching_in_train));
    v("use_dynamic_batching_in_infer", use_dynamic_batching_in_infer,
      "fill log-prob micro-batches up to a token budget; another spelling of use_sequence_packing", may_change());
    v("max_tokens_per_microbatch_in_infer", max_tokens_per_microbatch_in_infer, "tokens of a log-prob micro-batch",
      token_range(), may_change(), only_with(use_dynamic_batching_in_infer));
    v("share_prompts", share_prompts,
      "compute the common beginning of a micro-batch's sequences, such as a group's prompt, only once; auto: if that "
      "saves 5 % of the FLOPs",
      may_change());
    v.noted({"sequence_length_round_in_*"}, "sequences are not padded, so no length is rounded");
  }
};

}  // namespace roll
