// Aggregates token losses into the loss of a mini-batch, for all losses of lib/loss. Mode, mask and the counts of the
// whole mini-batch give one weight per token; loss = sum(weight * token loss). Micro-batches and ranks *sum* losses and
// gradients, so splitting the mini-batch cannot change the result. No other file divides a loss.
//
//   mode                     loss of the mini-batch (l token loss, m mask, N_i tokens of sequence i, M_g of prompt g)
//   token-mean               sum m*l / N_all
//   seq-mean-token-sum       sum m*l / S                    S sequences with N_i > 0
//   seq-mean-token-mean      sum_i (sum_t m*l / N_i) / S
//   seq-mean-token-sum-norm  sum m*l / L                    L = loss_aggregation_divisor, else sequence_length - 1
//   prompt-mean              sum_g (sum m*l / M_g) / P      P prompts with M_g > 0
//   constant                 sum m*l / (L * S)              L = loss_aggregation_divisor
//
// `apply_loss_scale`: nothing averages over the M micro-batches here, so the summed gradient is already that of the
// whole mini-batch. `true` (default) therefore scales the loss by 1, `false` by 1/M (see loss_scale()).
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

/// Parses a mode in either spelling ("seq-mean-token-mean" or "sample_mean"). UserError: unknown name; it lists the
/// modes.
AggMode agg_mode(std::string_view name);
/// Returns the mode that a loss_aggregation value (ScaleRL spelling) selects.
AggMode agg_mode(Aggregation aggregation);

/// Modes that one configuration selects; `policy` is the configured one. With loss_agg_mode (ROLL's key) it also
/// applies to the KL term, the entropy bonus and the value loss. With loss_aggregation (ScaleRL's key) these use the
/// diagnostics' mode. Diagnostics are sequence means of token means, or token means under token-mean.
struct LossModes {
  AggMode policy = AggMode::kSeqMeanTokenMean;
  AggMode kl = AggMode::kSeqMeanTokenMean;  // entropy bonus too
  AggMode value = AggMode::kSeqMeanTokenMean;
  AggMode diagnostics = AggMode::kSeqMeanTokenMean;
  double divisor = 1;  // L; used by modes with has_divisor()
};

/// Resolves the three spellings: loss_aggregation, else calculate_per_token_loss, else loss_agg_mode. Loading a
/// configuration has already checked that they agree.
LossModes loss_modes(const LossConfig& config);

/// Returns true if the mode divides by loss_aggregation_divisor.
bool has_divisor(AggMode mode);

/// Returns true if mini-batches must keep the sequences of a prompt together (prompt-mean).
bool needs_whole_groups(const LossModes& modes);

/// Arguments with which a loss calls token_weights(); `mask` is the mask's name.
struct WeightRule {
  std::string mask;
  AggMode mode = AggMode::kTokenMean;
  double divisor = 1;
};

/// Sequence and prompt of each token of a micro-batch.
struct TokenAxis {
  std::vector<int64_t> cu_seqlens;   // [B+1]
  std::vector<int64_t> group_index;  // [B] index of the prompt in the step, the same on every rank
  /// Pairs (mask on the device, its copy on the host); they save a copy from the device.
  std::vector<std::pair<at::Tensor, at::Tensor>> host_masks{};
  /// Token weights that were computed on the host and sent to the device with the masks.
  struct Sent {
    at::Tensor mask;
    WeightRule rule;
    at::Tensor weights;
  };
  std::vector<Sent> sent{};
  /// Factors per sequence [B], with the same factors per token [T] already on the device.
  std::vector<std::pair<std::vector<float>, at::Tensor>> spread{};
  at::Tensor bounds{};  // cu_seqlens as int32 on the device; undefined if not sent
};

/// Counts of one mask over the mini-batch. Each rank counts locally; the sum over ranks is the global count.
struct MaskCounts {
  int64_t batch_num_tokens = 0;          // N_all
  int64_t global_valid_samples = 0;      // S
  std::vector<int64_t> prompt_tokens{};  // M_g by group index; the same length on every rank

  int64_t valid_prompts() const;  // P
};

/// Counts the masked tokens of this rank's whole sequences. mask [T]: 0 or 1, any dtype. Bug: a group index outside
/// 0..num_groups-1.
MaskCounts local_counts(const at::Tensor& mask, const TokenAxis& axis, int64_t num_groups);

/// Counts of a mini-batch for each mask named in loss_mask_keys.
class MiniBatchCounts {
 public:
  void set(const std::string& mask, MaskCounts counts) { counts_[mask] = std::move(counts); }
  /// Returns the counts of a mask. UserError: the mask is not in loss_mask_keys; there is no local fall-back.
  const MaskCounts& at(const std::string& mask) const;

 private:
  std::map<std::string, MaskCounts> counts_;
};

/// Returns [B]: the number of masked tokens of each sequence. mask: [T].
std::vector<int64_t> tokens_per_sequence(const at::Tensor& mask, const std::vector<int64_t>& cu_seqlens);

/// Returns [T] float32 on `device`: each sequence's factor [B] repeated for its tokens.
at::Tensor spread(const std::vector<float>& factors, const TokenAxis& axis, at::Device device);

/// Returns [B]: 1 for sequences with a score above 0, else 0.
std::vector<float> are_positive(const std::vector<double>& scores);

/// Returns token weights [T] float32 on the mask's device: the mode's factor inside the mask, 0 outside. All are 0 if
/// the mini-batch has no masked token. Bug: sizes do not match, or a prompt was not counted.
at::Tensor token_weights(const at::Tensor& mask, const TokenAxis& axis, AggMode mode, const MaskCounts& counts,
                         double divisor = 1);

/// Returns sum(weights * token_loss), 0-dim. Tokens with weight 0 add 0 to value and gradient, even if their loss is
/// NaN.
at::Tensor weighted_sum(const at::Tensor& token_loss, const at::Tensor& weights);

/// Returns the factor on a micro-batch's loss before its backward; see the top of this file.
double loss_scale(bool apply_loss_scale, int64_t num_micro_batches);

}  // namespace roll
