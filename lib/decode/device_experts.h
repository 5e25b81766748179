// Mixtures of experts of the device decoder, for device_decoder.cpp.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "decode/decoder.h"
#include "decode/device_sizes.h"
#include "decode/kernel_launcher.h"
#include "model/transformer.h"

namespace roll {

/// One mixture: its weights on this rank, without the shared expert's.
struct DeviceMixture {
  ExpertRule rule;
  int64_t inner = 0;              // inner size of an expert on this rank
  int64_t first = 0;              // index of its first choice among a token's choices of all mixtures
  at::Tensor router;              // [experts, hidden]; the shared expert's gate is one more row
  at::Tensor bias;                // [experts] float32, or undefined
  at::Tensor matrices;            // [3, experts] int64: addresses of gate, up and down
  std::vector<at::Tensor> owned;  // the matrices
};

/// Returns the rule as the kernels take it.
ExpertRule expert_rule(const RoutingRule& rule);

/// Rows of a step, as the kernels see them.
struct MixedRows {
  const StepRow* rows = nullptr;
  int64_t count = 0;
  at::Tensor input;   // [count, hidden]
  at::Tensor shared;  // [count or more, hidden] float32: the shared expert's results; undefined if there is none
};

/// Launches the mixtures' kernels and holds the numbers between them. T: float, Bf16 or Fp16.
template <class T>
class DeviceExperts {
 public:
  /// `widths`: those of the model (device_sizes.h). `launcher` must outlive it.
  DeviceExperts(const Transformer& model, const MixtureWidths& widths, const DecoderSizes& sizes,
                KernelLauncher& launcher);

  DeviceMixture make_mixture(const Experts& experts, const LayerWeights& weights) const;
  /// Sets sums [count, hidden] float32 to the rows' results; with tensor parallelism to this rank's part. `tables`: the
  /// page tables of all slots.
  void mix(const DeviceMixture& mixture, const MixedRows& rows, const at::Tensor& tables, const at::Tensor& sums);
  /// Returns the experts of cached tokens, [pages, page size, choices of a token] int16; undefined if they are not
  /// recorded (DecoderSizes::records_experts).
  const at::Tensor& record() const { return record_; }

 private:
  template <class Kernel>
  void launch(const Kernel& kernel) {
    launcher_.launch(AnyKernelOf<T>(kernel));
  }
  template <int kRows>
  void multiply(const DeviceMixture& mixture, const MixedRows& rows);

  KernelLauncher& launcher_;
  at::Device device_;
  int64_t hidden_, page_size_;
  at::Tensor record_;
  at::Tensor logits_;                                 // [rows, experts and perhaps the shared expert's gate] float32
  at::Tensor choices_, weights_, entries_, sources_;  // [rows * choices]
  at::Tensor tiles_, gated_, results_;
};

}  // namespace roll
