// Responses to one prompt in one micro-batch: the prompt is computed once, as long as they stay together.
// Legend: B sequences.
#pragma once

#include <cstdint>
#include <vector>

#include "packing/config.h"
#include "packing/micro_batches.h"
#include "packing/partition.h"

namespace roll {

/// Sequences as plans see them.
struct SequenceSizes {
  std::vector<int64_t> lengths;                  // [B] tokens
  std::vector<int64_t> groups;                   // [B] number of the prompt; empty: no two have one
  std::vector<int64_t> prompts;                  // [B] tokens of it
  std::vector<std::vector<int64_t>> contexts{};  // [B] tokens of each of its contexts; empty: all are one

  // NOLINTNEXTLINE(google-explicit-constructor): sequences that share nothing are their lengths
  SequenceSizes(std::vector<int64_t> lengths = {}, std::vector<int64_t> groups = {}, std::vector<int64_t> prompts = {})
      : lengths(std::move(lengths)), groups(std::move(groups)), prompts(std::move(prompts)) {}

  int64_t num_sequences() const { return static_cast<int64_t>(lengths.size()); }
  SequenceSizes select(const std::vector<int64_t>& indices) const;
  /// Tokens of sequence i with its padding, context by context.
  int64_t aligned(int64_t sequence, int64_t alignment) const;
  /// Of a forward over it.
  double work(int64_t sequence, const Workload& workload) const;
};

/// UserError as check_budget().
PlannedItems items_of(const SequenceSizes& sizes, const PackOptions& options);

/// Tokens that sequences which begin with the same `common` ones need not compute again: all but the last, whose
/// log-prob is that of the token by which they differ; whole multiples of the alignment, so that nothing is padded
/// between them and what follows.
int64_t shared_tokens(int64_t common, int64_t alignment);

/// What one micro-batch, or a part of it, takes.
struct Load {
  int64_t tokens = 0;          // that are computed
  int64_t aligned_tokens = 0;  // with their padding
  double work = 0;             // of a forward
  int64_t shared = 0;          // tokens that are not computed, as others stand for them
};

/// Of these sequences together. `shares`: each prompt is computed once.
Load load_of(const SequenceSizes& sizes, const std::vector<int64_t>& sequences, int64_t alignment,
             const Workload& workload, bool shares);

/// Whether a batch of these sequences computes prompts once: as `wish` says; under auto, where groups that stay whole
/// save 5 % of the work. All ranks decide alike, from facts.
bool shares_prompts(const SequenceSizes& sizes, SharePrompts wish, int64_t alignment, const Workload& workload);

/// Each group in pieces of at most `most` sequences, in the order of the groups; smaller where a piece would take more
/// than `budget` aligned tokens (0: there is none).
Partition cut_groups(const SequenceSizes& sizes, int64_t most, int64_t budget, int64_t alignment);

}  // namespace roll
