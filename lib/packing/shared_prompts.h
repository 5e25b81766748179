// Plans prompt sharing: if responses to one prompt are in one micro-batch, the prompt is computed only once. The
// distribution of sequences over ranks and micro-batches uses it. A sequence is a prompt and its response. A context is
// a whole sequence, or a part of a trajectory whose turns have separate prompts; a token sees only its context.
// Legend: B sequences.
#pragma once

#include <cstdint>
#include <vector>

#include "packing/config.h"
#include "packing/micro_batches.h"
#include "packing/partition.h"

namespace roll {

/// Sizes of B sequences.
struct SequenceSizes {
  std::vector<int64_t> lengths;  // [B] tokens of the sequence
  std::vector<int64_t> groups;   // [B] number of the group: sequences of one prompt; empty: nothing is shared
  std::vector<int64_t> prompts;  // [B] tokens of the prompt; empty if `groups` is
  std::vector<std::vector<int64_t>> contexts{};  // [B] tokens of each context; empty: each sequence is one context

  // NOLINTNEXTLINE(google-explicit-constructor): sequences that share nothing are their lengths
  SequenceSizes(std::vector<int64_t> lengths = {}, std::vector<int64_t> groups = {}, std::vector<int64_t> prompts = {})
      : lengths(std::move(lengths)), groups(std::move(groups)), prompts(std::move(prompts)) {}

  int64_t num_sequences() const { return static_cast<int64_t>(lengths.size()); }
  /// Returns the sizes of the sequences with these indices, in this order.
  SequenceSizes select(const std::vector<int64_t>& indices) const;
  /// Returns the tokens of sequence `sequence` (an index), each context rounded up to a multiple of `alignment`.
  int64_t aligned(int64_t sequence, int64_t alignment) const;
  /// Returns the work of a forward pass over sequence `sequence`, summed over its contexts.
  double work(int64_t sequence, const Workload& workload) const;
};

/// Returns one item per sequence, without sharing, for plan_micro_batches(). Throws UserError if a sequence has more
/// aligned tokens than options.budget.
PlannedItems plan_items(const SequenceSizes& sizes, const PackOptions& options);

/// Returns how many of `common` (at least 1) equal leading tokens of two sequences need not be computed again. All but
/// the last are shared, because the last one predicts the first different token. The number is rounded down to a
/// multiple of `alignment`, so that no padding separates them from the rest.
int64_t shared_tokens(int64_t common, int64_t alignment);

/// Cost of several sequences in one micro-batch.
struct Load {
  int64_t tokens = 0;          // computed tokens
  int64_t aligned_tokens = 0;  // computed tokens and padding
  double work = 0;             // cost of a forward pass, in units of the Workload
  int64_t shared = 0;          // tokens that are not computed, because an equal prompt's are reused
};

/// Returns the cost of the sequences with indices `sequences` in one micro-batch. `shares`: true if each prompt among
/// them is computed once.
Load total_load(const SequenceSizes& sizes, const std::vector<int64_t>& sequences, int64_t alignment,
                const Workload& workload, bool shares);

/// Returns true if a batch computes each prompt once. `sizes`: the global batch, so that all ranks decide alike. For
/// `setting` kAuto: true if it saves at least 5 % of the work to compute every group's prompt once.
bool shares_prompts(const SequenceSizes& sizes, SharePrompts setting, int64_t alignment, const Workload& workload);

/// Splits each group (sequences with the same prompt) into pieces of at most `max_size` sequences, and of at most
/// `budget` aligned tokens with the prompt shared (0: no budget). A piece of one sequence may exceed the budget.
/// Returns the pieces, as lists of sequence indices, ordered by group number. sizes.groups must not be empty.
Partition cut_groups(const SequenceSizes& sizes, int64_t max_size, int64_t budget, int64_t alignment);

}  // namespace roll
