// Differentiable functions by fused GPU kernels (cuda/layer_kernels.h) for the parts of a layer between its matrix
// products, for model/mixers.cpp. They compute the functions of layer_ops.h with fewer launches and less memory
// traffic. Backward adds a weight's gradient to weight.grad() if that is float32, else returns it to autograd. A
// launcher must be owned by a shared_ptr, because backward keeps it. Call a function only if takes_layer() is true for
// its inputs.
// Legend: N rows (tokens), E hidden size, H query heads, Hkv key/value heads, D head size, I inner size.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "ops/layer_launcher.h"
#include "ops/layer_ops.h"

namespace roll {

/// Returns true if the kernels support these inputs: x is float32 or bfloat16, and `weights` and their gradients are
/// aligned. Each of `sizes` (numbers of elements of x's dtype, such as the hidden size) must take a multiple of 16
/// bytes.
bool takes_layer(const at::Tensor& x, const std::vector<int64_t>& sizes, const std::vector<at::Tensor>& weights);

struct NormedSum {
  at::Tensor sum, normed;  // [N, E] each
};

/// Returns sum = x + branch (x if `branch` is undefined) and normed = rms_norm(sum, weight, eps): x, branch [N, E].
NormedSum fused_norm(const LayerLauncher& launcher, const at::Tensor& x, const at::Tensor& branch,
                     const at::Tensor& weight, double eps);

struct HeadShape {
  int64_t heads = 0, kv_heads = 0, head_dim = 0;  // H, Hkv, D
};

struct RotatedHeads {
  at::Tensor q, k, v;  // [N, H, D], [N, Hkv, D], [N, Hkv, D]: views; each head's elements are contiguous
};

/// Splits qkv [N, (H + 2 Hkv) D] (queries, keys, values) into heads, and applies RMSNorms with the weights q_norm and
/// k_norm [D] (both undefined: no norms), then RoPE, to queries and keys. Without norms it overwrites qkv. Throws Bug
/// if only one norm is defined.
RotatedHeads fused_heads(const LayerLauncher& launcher, const at::Tensor& qkv, const HeadShape& shape,
                         const at::Tensor& q_norm, const at::Tensor& k_norm, double eps, const Rotation& rotation);

/// Returns silu(gate) * up, [N, I]; gate_up [N, 2 I] has the columns of gate, then those of up.
at::Tensor fused_gate(const LayerLauncher& launcher, const at::Tensor& gate_up);

/// Returns the rows of weight [V, E] with the indices `ids` [N] int64: [N, E]. Backward sums each row's gradients in
/// float32, in the order of the tokens.
at::Tensor fused_rows(const LayerLauncher& launcher, const at::Tensor& weight, const at::Tensor& ids);

}  // namespace roll
