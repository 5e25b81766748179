// Interface of custom losses for `roll train` and `roll sft`: write a function and register its name with ROLL_LOSS.
//
//   #include <roll/loss.h>
//
//   static roll::LossOutput my_loss(const roll::LossContext& c) {
//     const at::Tensor ratio = roll::bounded_exp(c.tensor("log_probs") - c.tensor("old_log_probs"));
//     return {c.agg_loss(-ratio * c.tensor("advantages"), "final_response_mask"), {}};
//   }
//   ROLL_LOSS(my_loss, my_loss)
//
// Build it as a shared library (find_package(roll), roll_add_loss(mylib my_loss.cpp)) and name it in the configuration:
//
//   actor_train:
//     loss_func: {library: build/libmylib.so, name: my_loss, args: {beta: 0.05}}
//
// A mini-batch is the sequences of one optimizer update; it is split into micro-batches over all ranks. The function is
// called once per micro-batch. Its result is *summed* over micro-batches and ranks, so each term must be divided by
// counts of the whole mini-batch. Functions agg_loss() and weights() do that; a plain mean() does not (`roll
// check-loss` detects it).
//
// Legend: B sequences, T packed tokens of the micro-batch. Index t of every [T] tensor refers to token t + 1.
//
// Build the library with the same LibTorch and C++ compiler family as roll.
#pragma once

#include <ATen/ATen.h>
#include <torch/version.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace roll {

/// Version of the interface below; raised with every change.
constexpr uint32_t kLossAbiVersion = 1;

/// Result of a loss function for a micro-batch.
struct LossOutput {
  at::Tensor loss;  // 0-dim, with gradient; summed over micro-batches and ranks
  /// Names and values. A name ends in how the values of micro-batches are merged: @sum (parts of a normalised sum, as
  /// agg_metric() returns), @mean, @max, @min, @std, @p50 or @p99, e.g. "actor/my_term@sum".
  std::vector<std::pair<std::string, double>> metrics;
};

/// One micro-batch, with the counts of its whole mini-batch.
class LossContext {
 public:
  virtual ~LossContext() = default;

  /// Returns a tensor [T] float32 on the model's device, by name. actor: log_probs (with gradient), entropy (with
  /// gradient), old_log_probs, ref_log_probs, sampler_log_probs, advantages, returns, token_rewards, is_weights,
  /// sample_weights (from difficulty_loss_weight and length_loss_weight). critic: values (with gradient), old_values,
  /// returns, token_rewards, advantages. sft: log_probs (with gradient). A pg_loss_reducer also has pg_loss: the policy
  /// term per token, all weights applied, with gradient. Throws if the configuration does not compute the tensor.
  virtual at::Tensor tensor(const std::string& name) const = 0;
  /// Returns true if tensor(name) exists.
  virtual bool has(const std::string& name) const = 0;

  /// Returns a mask [T] float32, 0 or 1: response_mask, final_response_mask, positive_response_mask
  /// (final_response_mask for responses with a score above 0); labels_mask for sft. Throws for other names.
  virtual at::Tensor mask(const std::string& name) const = 0;

  /// Returns the boundaries of the sequences on the token axis, [B+1]: sequence b is tokens [cu_seqlens()[b],
  /// cu_seqlens()[b + 1]).
  virtual const std::vector<int64_t>& cu_seqlens() const = 0;
  /// Returns the index of each sequence in the step, [B].
  virtual const std::vector<int64_t>& sequence_index() const = 0;
  /// Returns the index of each sequence's prompt in the step, [B].
  virtual const std::vector<int64_t>& group_index() const = 0;
  /// Returns the score of each response from the reward function, [B].
  virtual const std::vector<double>& scores() const = 0;

  /// Returns the number of masked tokens in the whole mini-batch, over all ranks. Throws if the key loss_mask_keys
  /// lacks the mask.
  virtual int64_t batch_num_tokens(const std::string& mask) const = 0;
  /// Returns the number of sequences with a masked token in the whole mini-batch, over all ranks. Throws as
  /// batch_num_tokens() does.
  virtual int64_t global_valid_samples(const std::string& mask) const = 0;

  /// Returns token weights [T] float32, 0 outside the mask. sum(weights * token loss) is this micro-batch's part of the
  /// mini-batch's loss under `mode`, a value of loss_agg_mode ("": the configured one). Throws for unknown names, and
  /// for a mode that needs loss_aggregation_divisor unless it is the configured one.
  virtual at::Tensor weights(const std::string& mask, const std::string& mode = "") const = 0;

  /// Returns the text of a key of `args` in the configuration; nullopt if it is not set.
  virtual std::optional<std::string> arg(const std::string& key) const = 0;

  // ---- derived from the functions above

  /// Returns sum(weights * loss_mat), 0-dim: this micro-batch's part of the mini-batch's loss. loss_mat: [T] token
  /// losses. mask_name, mode: as for weights().
  at::Tensor agg_loss(const at::Tensor& loss_mat, const std::string& mask_name, const std::string& mode = "") const {
    const at::Tensor w = weights(mask_name, mode);
    return (at::where(w.ne(0), loss_mat, at::zeros({}, loss_mat.options())) * w).sum();
  }

  /// Returns the value of a metric "...@sum": agg_loss() of the values [T], computed in float64 without gradient.
  double agg_metric(const at::Tensor& values, const std::string& mask_name, const std::string& mode = "") const {
    return agg_loss(values.detach().to(at::kDouble), mask_name, mode).item<double>();
  }

  /// Returns a key of `args` as a number, or `fallback` if it is not set. Throws if the text is not a number.
  double number(const std::string& key, double fallback) const {
    const auto text = arg(key);
    if (!text) return fallback;
    size_t used = 0;
    double value = 0;
    try {
      value = std::stod(*text, &used);
    } catch (const std::exception&) {
    }
    if (used == 0 || used != text->size())
      throw std::invalid_argument("args." + key + " = " + *text + ": must be a number");
    return value;
  }
};

/// Returns the masked mean of `values` [T] over each sequence, [B]; 0 if the mask is empty. Not to be summed as a loss:
/// it is not divided by counts of the mini-batch.
inline at::Tensor masked_mean(const LossContext& c, const at::Tensor& values, const at::Tensor& mask) {
  std::vector<at::Tensor> means;
  for (size_t b = 0; b + 1 < c.cu_seqlens().size(); ++b) {
    const auto m = mask.slice(0, c.cu_seqlens()[b], c.cu_seqlens()[b + 1]);
    const auto x = values.slice(0, c.cu_seqlens()[b], c.cu_seqlens()[b + 1]);
    means.push_back((x * m).sum() / m.sum().clamp_min(1));
  }
  return at::stack(means);
}

/// Returns exp(min(x, 80)), also for the gradient. float32 overflows beyond 88, and infinity times a zero advantage or
/// gradient is NaN.
inline at::Tensor bounded_exp(const at::Tensor& x) {
  return x.clamp_max(80).exp();
}

/// Returns the non-negative KL estimate exp(-d) + d - 1, at most 10 (Schulman 2020). d: as for approx_kl().
inline at::Tensor k3_term(const at::Tensor& d) {
  return at::clamp(at::expm1((-d).clamp_max(80)) + d, -10, 10);
}

/// Returns estimates of KL(policy || base) per token [T] with d = log_probs - base: "kl" d, "abs" |d|, "mse" d^2/2,
/// "k3" k3_term(d). Throws for another name.
inline at::Tensor approx_kl(const at::Tensor& log_probs, const at::Tensor& base, const std::string& penalty = "k3") {
  const at::Tensor d = log_probs - base;
  if (penalty == "kl") return d;
  if (penalty == "abs") return d.abs();
  if (penalty == "mse") return d.square() * 0.5;
  if (penalty == "k3") return k3_term(d);
  throw std::invalid_argument("approx_kl: " + penalty + " is none of kl, abs, mse, k3");
}

using LossFunction = LossOutput (*)(const LossContext&);

/// Description of a loss that a library exports as symbol roll_loss_<name>, by ROLL_LOSS. The first two members stay in
/// place in all versions.
struct LossExport {
  uint32_t abi_version;
  const char* torch_version;
  LossFunction function;
};

}  // namespace roll

/// Exports `function`, a LossFunction, under `name`, a C identifier that loss_func.name in the configuration gives.
#define ROLL_LOSS(name, function)                                                            \
  extern "C" __attribute__((visibility("default"))) const roll::LossExport roll_loss_##name; \
  const roll::LossExport roll_loss_##name{roll::kLossAbiVersion, TORCH_VERSION, function};
