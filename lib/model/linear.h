// A product with a weight of a layer: the weight alone, or with a low-rank adapter (lora.h) beside it.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "dist/communicator.h"
#include "ops/dropout.h"
#include "ops/quantised.h"

namespace roll {

struct Adapter {
  at::Tensor a, b;       // [r, in], [out, r]: float32, of a float64 model float64
  at::Tensor magnitude;  // [out]; undefined: not DoRA
  double scale = 1;
  Communicator* columns = nullptr;  // the ranks that share rows of the weight; null: this one has whole rows
  DropoutRule dropout = {};
};

/// Weights and biases of y = x W^T + b; bias may be undefined.
struct Linear {
  at::Tensor weight, bias;  // where `quantised`, weight is its codes
  std::optional<Adapter> adapter = {};
  std::optional<QuantisedMatrix> quantised = {};
  at::ScalarType dtype = at::kFloat;  // in which the model computes

  int64_t outputs() const { return weight.size(0); }
  int64_t inputs() const;
  /// Whether the product is one with the weight as it lies there.
  bool is_plain() const { return !adapter && !quantised; }
};

/// x [T, in] -> x W^T [T, out] in x's dtype, adapter and all, without the bias. Under `columns` it is a partial sum, as
/// without an adapter, and DoRA's lengths are **Collective**. `names`: the tokens' dropout_names(), in training; else
/// undefined.
at::Tensor product(const Linear& linear, const at::Tensor& x, const at::Tensor& names = {});
/// The same out of x W^T, which a larger product may have made.
at::Tensor with_adapter(const Linear& linear, const at::Tensor& base, const at::Tensor& x,
                        const at::Tensor& names = {});

/// [out, in], in the model's dtype: the weight whose product is product(); itself where that is plain.
/// No gradients. **Collective** as product().
at::Tensor merged_weight(const Linear& linear);

/// The lengths of the rows of a [out, in] matrix: [out]. **Collective** over `columns`.
at::Tensor row_lengths(const at::Tensor& matrix, Communicator* columns);

}  // namespace roll
