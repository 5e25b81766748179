// Aggregates token losses into the loss of a mini-batch (the sequences of one optimizer update), for all losses of
// lib/loss. Mode, mask and the counts of the whole mini-batch give one weight per token; loss = sum(weight * token
// loss). Micro-batches and ranks *sum* losses and gradients, so splitting the mini-batch cannot change the result. No
// other file divides a loss.
//
//   mode                     loss of the mini-batch (l token loss, m mask; tokens with mask 1: N_all in total, N_i of
//                            sequence i, M_g of all sequences of prompt g)
//   token-mean               sum m*l / N_all
//   seq-mean-token-sum       sum m*l / S                    S sequences with N_i > 0
//   seq-mean-token-mean      sum_i (sum_t m*l / N_i) / S
//   seq-mean-token-sum-norm  sum m*l / L                    L = loss_aggregation_divisor, else sequence_length - 1
//   prompt-mean              sum_g (sum m*l / M_g) / P      P prompts with M_g > 0
//   constant                 sum m*l / (L * S)              L = loss_aggregation_divisor
//
// The weights already divide by the counts of the whole mini-batch, so the gradients of the micro-batches are summed,
// not averaged. ROLL's backends average them, and with its key apply_loss_scale (default true) a factor cancels that
// division. Here true changes nothing; false divides by the number of micro-batches, too (loss_scale()).
//
// A trajectory whose turns have separate prompts counts here as several sequences, one per context (Batch in
// experience/batch.h). A selected token is one whose mask is 1. Legend for one TokenAxis: B sequences, T packed tokens.
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

/// Returns the mode of this name, a value of loss_agg_mode ("seq-mean-token-mean") or of loss_aggregation
/// ("sample_mean"). Throws UserError, which lists the modes, if the name is unknown.
AggMode agg_mode(std::string_view name);
/// Returns the mode that a value of the key loss_aggregation (ScaleRL's spelling) means.
AggMode agg_mode(Aggregation aggregation);

/// Modes of the loss terms in one configuration; made by loss_modes().
struct LossModes {
  AggMode policy = AggMode::kSeqMeanTokenMean;       // policy term; loss of fine-tuning
  AggMode kl = AggMode::kSeqMeanTokenMean;           // KL term and entropy bonus
  AggMode value = AggMode::kSeqMeanTokenMean;        // critic's loss
  AggMode diagnostics = AggMode::kSeqMeanTokenMean;  // metrics that are not loss terms
  double divisor = 1;                                // L; used by modes with has_divisor()
};

/// Returns the modes of a configuration, whose keys were checked to agree when it was loaded:
///   policy       the mode of loss_aggregation (ScaleRL's key) if it is set, else of loss_agg_mode (ROLL's key). It is
///                token-mean if calculate_per_token_loss is true, an older key that means this mode.
///   diagnostics  token-mean if `policy` is, else seq-mean-token-mean
///   kl, value    `diagnostics` if loss_aggregation is set, which means the policy term alone; else `policy`
///   divisor      loss_aggregation_divisor; 1 if it is unset
LossModes loss_modes(const LossConfig& config);

/// Returns true if the mode divides by L.
bool has_divisor(AggMode mode);

/// Returns true if mini-batches must keep the sequences of a prompt together (prompt-mean).
bool needs_whole_groups(const LossModes& modes);

/// Arguments with which a loss term calls token_weights().
struct WeightRule {
  std::string mask;  // name of the mask
  AggMode mode = AggMode::kTokenMean;
  double divisor = 1;  // L
};

/// Boundaries and prompts of sequences on a token axis: those of a micro-batch, or for local_counts(), of this rank's
/// part of a mini-batch. Batch::axis() (experience/batch.h) fills it. Other callers need only the first two fields. The
/// other fields hold tensors that went to a GPU together with the micro-batch, so that no function here copies between
/// host and device. If they are empty, the functions make these tensors themselves.
struct TokenAxis {
  std::vector<int64_t> cu_seqlens;   // [B+1] from 0: sequence b is tokens [cu_seqlens[b], cu_seqlens[b + 1])
  std::vector<int64_t> group_index;  // [B] index of each sequence's prompt among those of the step, over all ranks
  /// Pairs (mask on the device, equal mask on the host), so that the mask need not be copied back.
  std::vector<std::pair<at::Tensor, at::Tensor>> host_masks{};
  /// Results of token_weights() that were computed on the host and sent to the device with the masks.
  struct Sent {
    at::Tensor mask;  // on the device
    WeightRule rule;
    at::Tensor weights;  // [T] on the device
  };
  std::vector<Sent> sent{};
  /// Pairs (factors per sequence [B], the same factors per token [T] on the device), for spread().
  std::vector<std::pair<std::vector<float>, at::Tensor>> spread{};
  at::Tensor bounds{};  // cu_seqlens as int32 on the device; undefined if not sent
};

/// Counts for one mask, with the letters of the table above. Losses use the counts of the whole mini-batch, under
/// ROLL's names. local_counts() returns those of this rank's part, which count_masks() (step/updates.h) sums over
/// ranks.
struct MaskCounts {
  int64_t batch_num_tokens = 0;          // N_all: selected tokens
  int64_t global_valid_samples = 0;      // S: sequences with a selected token
  std::vector<int64_t> prompt_tokens{};  // M_g: selected tokens by group index; the same length on every rank

  int64_t valid_prompts() const;  // P: prompts with a selected token
};

/// Returns the counts over the sequences of `axis`, this rank's part of a mini-batch. mask [T]: 0 or 1, any dtype.
/// num_groups: prompts in the step. Not collective. Throws Bug if a group index is not in [0, num_groups).
MaskCounts local_counts(const at::Tensor& mask, const TokenAxis& axis, int64_t num_groups);

/// Counts over a whole mini-batch, summed over all ranks, for each mask named in the key loss_mask_keys.
class MiniBatchCounts {
 public:
  void set(const std::string& mask, MaskCounts counts) { counts_[mask] = std::move(counts); }
  /// Returns the counts of a mask. Throws UserError if they were not set, because loss_mask_keys lacks the mask.
  const MaskCounts& at(const std::string& mask) const;

 private:
  std::map<std::string, MaskCounts> counts_;
};

/// Returns [B]: the number of selected tokens of each sequence. mask: [T].
std::vector<int64_t> tokens_per_sequence(const at::Tensor& mask, const std::vector<int64_t>& cu_seqlens);

/// Returns [T] float32 on `device`: for each token the factor of its sequence. factors: [B]. If axis.spread has these
/// factors, returns the result stored there.
at::Tensor spread(const std::vector<float>& factors, const TokenAxis& axis, at::Device device);

/// Returns [B]: 1 for sequences with a score above 0, else 0.
std::vector<float> are_positive(const std::vector<double>& scores);

/// Returns token weights [T] float32 on the mask's device: for selected tokens the factor of l in the table, 0
/// for others. Takes them from axis.sent if they are there. mask: [T]. counts: those of this mask over the whole
/// mini-batch. divisor: L. Throws Bug if sizes do not match, or a prompt was not counted.
at::Tensor token_weights(const at::Tensor& mask, const TokenAxis& axis, AggMode mode, const MaskCounts& counts,
                         double divisor = 1);

/// Returns sum(weights * token_loss), 0-dim. Tokens with weight 0 add 0 to value and gradient, even if their loss is
/// NaN.
at::Tensor weighted_sum(const at::Tensor& token_loss, const at::Tensor& weights);

/// Returns the factor by which the caller multiplies each micro-batch's loss before backward: 1 if apply_loss_scale is
/// true, else 1 / num_micro_batches. num_micro_batches: number of the mini-batch's micro-batches that hold tokens,
/// summed over all ranks; at least 1.
double loss_scale(bool apply_loss_scale, int64_t num_micro_batches);

}  // namespace roll
