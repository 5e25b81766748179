// Plans prefix sharing: if responses to one prompt are in one micro-batch, the prompt is computed once. Legend: B
// sequences.
#pragma once

#include <cstdint>
#include <vector>

#include "packing/config.h"
#include "packing/micro_batches.h"
#include "packing/partition.h"

namespace roll {

/// Sizes of sequences for planning.
struct SequenceSizes {
  std::vector<int64_t> lengths;                  // [B] tokens
  std::vector<int64_t> groups;                   // [B] index of the prompt; empty: all prompts differ
  std::vector<int64_t> prompts;                  // [B] tokens of the prompt
  std::vector<std::vector<int64_t>> contexts{};  // [B] tokens of each context; empty: one context per sequence

  // NOLINTNEXTLINE(google-explicit-constructor): sequences that share nothing are their lengths
  SequenceSizes(std::vector<int64_t> lengths = {}, std::vector<int64_t> groups = {}, std::vector<int64_t> prompts = {})
      : lengths(std::move(lengths)), groups(std::move(groups)), prompts(std::move(prompts)) {}

  int64_t num_sequences() const { return static_cast<int64_t>(lengths.size()); }
  SequenceSizes select(const std::vector<int64_t>& indices) const;
  /// Returns the padded tokens of a sequence, context by context.
  int64_t aligned(int64_t sequence, int64_t alignment) const;
  /// Returns the work of a forward over a sequence.
  double work(int64_t sequence, const Workload& workload) const;
};

/// Returns one item per sequence. UserError: as for check_budget().
PlannedItems plan_items(const SequenceSizes& sizes, const PackOptions& options);

/// Returns how many of `common` equal leading tokens need not be computed again: all but the last, which predicts the
/// first different token, rounded down to the alignment, so that no padding separates them from the rest.
int64_t shared_tokens(int64_t common, int64_t alignment);

/// Cost of a whole or partial micro-batch.
struct Load {
  int64_t tokens = 0;          // computed tokens
  int64_t aligned_tokens = 0;  // computed tokens with padding
  double work = 0;             // work of a forward
  int64_t shared = 0;          // tokens not computed, since an equal prefix is reused
};

/// Returns the cost of these sequences together. `shares`: each prompt is computed once.
Load total_load(const SequenceSizes& sizes, const std::vector<int64_t>& sequences, int64_t alignment,
                const Workload& workload, bool shares);

/// Returns true if a batch computes prompts once: as `setting` says; with auto, if whole groups would save 5 % of the
/// work. All ranks decide alike.
bool shares_prompts(const SequenceSizes& sizes, SharePrompts setting, int64_t alignment, const Workload& workload);

/// Splits each group into pieces of at most `max_size` sequences, in the groups' order; into smaller ones if a piece
/// would exceed `budget` aligned tokens (0: no budget).
Partition cut_groups(const SequenceSizes& sizes, int64_t max_size, int64_t budget, int64_t alignment);

}  // namespace roll
