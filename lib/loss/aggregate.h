// How token losses become the loss of a mini-batch: mode + mask + counts of the whole mini-batch -> one weight per
// token, and loss = sum(weight * token loss). Losses and gradients of micro-batches and ranks are *summed*, so the
// result cannot depend on how the mini-batch was cut. This is the only place of the program that divides a loss.
//
//   mode                     loss of the mini-batch (l token loss, m mask, N_i tokens of sequence i, M_g of prompt g)
//   token-mean               sum m*l / N_all
//   seq-mean-token-sum       sum m*l / S                    S sequences with N_i > 0
//   seq-mean-token-mean      sum_i (sum_t m*l / N_i) / S
//   seq-mean-token-sum-norm  sum m*l / L                    L = loss_aggregation_divisor, else sequence_length - 1
//   prompt-mean              sum_g (sum m*l / M_g) / P      P prompts with M_g > 0
//   constant                 sum m*l / (L * S)              L = loss_aggregation_divisor
//
// Consequence for `apply_loss_scale`: nothing averages over the M micro-batches here, so the summed gradient is already
// that of the whole mini-batch. `true` (default) therefore scales the loss by 1, `false` by 1/M (see loss_scale()).
// Legend: B sequences, T packed tokens of a micro-batch.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "loss/config.h"

namespace roll {

/// The mode of either spelling ("seq-mean-token-mean" or "sample_mean"). UserError lists the modes.
AggMode agg_mode(std::string_view name);
/// What the ScaleRL spelling means.
AggMode agg_mode(Aggregation aggregation);

/// The modes of one configuration: `policy` is the configured one. In the ROLL family (`loss_agg_mode`) it also
/// applies to the KL term, the entropy bonus and the value loss; in the ScaleRL family (`loss_aggregation`) those are
/// aggregated like the diagnostics. Diagnostics are sequence means of token means, or token means under token-mean.
struct LossModes {
  AggMode policy = AggMode::kSeqMeanTokenMean;
  AggMode kl = AggMode::kSeqMeanTokenMean;  // of the entropy bonus, too
  AggMode value = AggMode::kSeqMeanTokenMean;
  AggMode diagnostics = AggMode::kSeqMeanTokenMean;
  double divisor = 1;  // of the modes that have one
};

/// What the three spellings together mean: loss_aggregation, else calculate_per_token_loss, else loss_agg_mode. That
/// they do not contradict each other is checked when a configuration is loaded.
LossModes loss_modes(const LossConfig& config);

/// Whether the mode divides by loss_aggregation_divisor.
bool has_divisor(AggMode mode);

/// Whether mini-batches must keep the sequences of a prompt together.
bool needs_whole_groups(const LossModes& modes);

/// Weights that a loss asks token_weights() for, of a mask by its name.
struct WeightRule {
  std::string mask;
  AggMode mode = AggMode::kTokenMean;
  double divisor = 1;
};

/// Which sequence and which prompt each token of a micro-batch belongs to.
struct TokenAxis {
  std::vector<int64_t> cu_seqlens;   // [B+1]
  std::vector<int64_t> group_index;  // [B] the prompt's number in the step, the same on every rank
  /// Masks on a device, each with the same one on the host, from where nobody need fetch it.
  std::vector<std::pair<at::Tensor, at::Tensor>> host_masks{};
  /// Weights that have come to the device with its masks.
  struct Sent {
    at::Tensor mask;
    WeightRule rule;
    at::Tensor weights;
  };
  std::vector<Sent> sent{};
  /// Factors of sequences [B] that have come with them, on their tokens [T].
  std::vector<std::pair<std::vector<float>, at::Tensor>> spread{};
  at::Tensor bounds{};  // cu_seqlens, int32, where these have come to the device, too
};

/// What one mask counts over the mini-batch. Local first; summed over ranks (and nothing else) it is global.
struct MaskCounts {
  int64_t batch_num_tokens = 0;          // N_all
  int64_t global_valid_samples = 0;      // S
  std::vector<int64_t> prompt_tokens{};  // M_g by group index; the same length on every rank

  int64_t valid_prompts() const;  // P
};

/// Counts of this rank's whole sequences. mask [T], zero or one, any dtype. A group index outside 0..num_groups-1 is a
/// Bug.
MaskCounts local_counts(const at::Tensor& mask, const TokenAxis& axis, int64_t num_groups);

/// The counts of all declared masks of a mini-batch by mask name (loss_mask_keys).
class MiniBatchCounts {
 public:
  void set(const std::string& mask, MaskCounts counts) { counts_[mask] = std::move(counts); }
  /// UserError: the mask is not in loss_mask_keys; there is no local fall-back.
  const MaskCounts& at(const std::string& mask) const;

 private:
  std::map<std::string, MaskCounts> counts_;
};

/// [B]: how many tokens of each sequence are in the mask [T].
std::vector<int64_t> tokens_per_sequence(const at::Tensor& mask, const std::vector<int64_t>& cu_seqlens);

/// [T] float32: each sequence's factor [B] on all of its tokens.
at::Tensor spread(const std::vector<float>& factors, const TokenAxis& axis, at::Device device);

/// [B]: 1 where a sequence's score is above 0.
std::vector<float> are_positive(const std::vector<double>& scores);

/// Weights w [T] float32 on the mask's device: w = 0 outside the mask, and the mode's factor inside.
/// A mini-batch without a token gives zero weights. Bug: lengths that do not fit, a prompt that was not counted.
at::Tensor token_weights(const at::Tensor& mask, const TokenAxis& axis, AggMode mode, const MaskCounts& counts,
                         double divisor = 1);

/// sum(weights * token_loss), 0-dim float32. Where the weight is 0, even a NaN token loss counts as 0, value and
/// gradient.
at::Tensor weighted_sum(const at::Tensor& token_loss, const at::Tensor& weights);

/// The factor on a micro-batch's loss before its gradient is summed; see the top of this file.
double loss_scale(bool apply_loss_scale, int64_t num_micro_batches);

}  // namespace roll
