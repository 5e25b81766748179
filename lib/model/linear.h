// A linear layer's tensors and its matrix product x W^T, with or without a low-rank adapter (lora.h) and quantisation,
// for mixers.cpp and experts.cpp. Under tensor parallelism all tensors are this rank's shards.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "dist/communicator.h"
#include "ops/dropout.h"
#include "ops/quantised.h"

namespace roll {

/// Adapter of a linear layer: x W^T + scale * x A^T B^T.
struct Adapter {
  at::Tensor a, b;       // [r, in], [out, r]: float32 (float64 in a float64 model)
  at::Tensor magnitude;  // DoRA: [out], the norms of the rows of the adapted weight; undefined: not DoRA
  double scale = 1;
  Communicator* columns = nullptr;  // ranks among which W's columns are sharded; null: W's rows are whole
  DropoutRule dropout = {};
};

/// Weights and biases of y = x W^T + b; bias may be undefined.
struct Linear {
  at::Tensor weight, bias;  // [out, in], [out]; if `quantised` is set, weight holds its codes
  std::optional<Adapter> adapter = {};
  std::optional<QuantisedMatrix> quantised = {};
  at::ScalarType dtype = at::kFloat;  // compute dtype of the model

  int64_t outputs() const { return weight.size(0); }
  int64_t inputs() const;
  /// True if there is neither an adapter nor quantisation.
  bool is_plain() const { return !adapter && !quantised; }
};

/// Returns x [T, in] -> x W^T [T, out] in x's dtype, with the adapter, without the bias. If W's columns are sharded, it
/// is this rank's partial sum; with DoRA the call is then **collective** over Adapter::columns. `token_keys`: the
/// tokens' keys from dropout_keys(), if the adapter's dropout is to apply; undefined: no dropout.
at::Tensor product(const Linear& linear, const at::Tensor& x, const at::Tensor& token_keys = {});

/// Returns the weight [out, in] in the model's dtype with the adapter merged into it and dequantised, so that x W^T
/// equals product() without dropout; returns linear.weight itself if is_plain(). No gradients. **Collective** like
/// product().
at::Tensor merged_weight(const Linear& linear);

/// Returns the L2 norms of a matrix's rows: [out, in] -> [out], without gradients. `columns`: ranks among which the
/// columns are sharded, over which the call is **collective**; null: rows are whole.
at::Tensor row_norms(const at::Tensor& matrix, Communicator* columns);

}  // namespace roll
