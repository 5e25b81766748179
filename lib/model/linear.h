// Product of x with a layer's weight, alone or with a low-rank adapter (lora.h), for mixers.cpp and experts.cpp.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "dist/communicator.h"
#include "ops/dropout.h"
#include "ops/quantised.h"

namespace roll {

struct Adapter {
  at::Tensor a, b;       // [r, in], [out, r]: float32 (float64 in a float64 model)
  at::Tensor magnitude;  // [out]; undefined: not DoRA
  double scale = 1;
  Communicator* columns = nullptr;  // ranks that share each row of the weight; null: rows are whole
  DropoutRule dropout = {};
};

/// Weights and biases of y = x W^T + b; bias may be undefined.
struct Linear {
  at::Tensor weight, bias;  // if `quantised`, weight holds its codes
  std::optional<Adapter> adapter = {};
  std::optional<QuantisedMatrix> quantised = {};
  at::ScalarType dtype = at::kFloat;  // compute dtype of the model

  int64_t outputs() const { return weight.size(0); }
  int64_t inputs() const;
  /// True without adapter and quantisation.
  bool is_plain() const { return !adapter && !quantised; }
};

/// Returns x [T, in] -> x W^T [T, out] in x's dtype, adapter included, bias excluded. Under `columns` it is a partial
/// sum, as without an adapter, and DoRA's row norms are **Collective**. `token_keys`: the tokens' dropout_keys() in
/// training, else undefined.
at::Tensor product(const Linear& linear, const at::Tensor& x, const at::Tensor& token_keys = {});
/// Like product(), given base = x W^T already computed, e.g. a slice of a fused matmul.
at::Tensor with_adapter(const Linear& linear, const at::Tensor& base, const at::Tensor& x,
                        const at::Tensor& token_keys = {});

/// Returns the [out, in] weight, in the model's dtype, whose plain product equals product(); the weight itself if
/// plain. No gradients. **Collective** like product().
at::Tensor merged_weight(const Linear& linear);

/// Returns the L2 norms of the rows of a [out, in] matrix: [out]. **Collective** over `columns`.
at::Tensor row_lengths(const at::Tensor& matrix, Communicator* columns);

}  // namespace roll
