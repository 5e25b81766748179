// Differentiable fused kernels (cuda/layer_kernels.h) for the parts of a layer between its GEMMs, used by the models on
// GPUs. They compute the functions of layer_ops.h with fewer launches and less memory traffic. A weight's gradient is
// added to its float32 weight.grad(), or else returned to autograd. Launchers must be owned by a shared_ptr, because
// backward keeps them.
// Legend: N rows (tokens), E hidden size, H query heads, Hkv key/value heads, D head size, I inner size.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "ops/layer_launcher.h"
#include "ops/layer_ops.h"

namespace roll {

/// True if the kernels support these inputs: x is float32 or bfloat16, each of `sizes` elements is a multiple of 16
/// bytes, and `weights` are aligned to 16 bytes.
bool takes_layer(const at::Tensor& x, const std::vector<int64_t>& sizes, const std::vector<at::Tensor>& weights);

struct NormedSum {
  at::Tensor sum, normed;  // [N, E]
};

/// Returns sum = x + branch (undefined: x) and normed = rms_norm(sum, weight, eps).
NormedSum fused_norm(const LayerLauncher& launcher, const at::Tensor& x, const at::Tensor& branch,
                     const at::Tensor& weight, double eps);

struct HeadShape {
  int64_t heads = 0, kv_heads = 0, head_dim = 0;
};

struct RotatedHeads {
  at::Tensor q, k, v;  // [N, H, D], [N, Hkv, D], [N, Hkv, D]: views; each head's elements are contiguous
};

/// Splits qkv [N, (H + 2 Hkv) D] into heads and applies q/k norm (both undefined: none) and RoPE to queries and keys.
/// Overwrites qkv if there are no norms.
RotatedHeads fused_heads(const LayerLauncher& launcher, const at::Tensor& qkv, const HeadShape& shape,
                         const at::Tensor& q_norm, const at::Tensor& k_norm, double eps, const Rotation& rotation);

/// Returns silu(gate) * up [N, I] of gate_up [N, 2 I], gate first.
at::Tensor fused_gate(const LayerLauncher& launcher, const at::Tensor& gate_up);

/// Returns rows `ids` [N] of weight [V, E]. Backward sums each row's gradients in float32, in the order of the tokens.
at::Tensor fused_rows(const LayerLauncher& launcher, const at::Tensor& weight, const at::Tensor& ids);

}  // namespace roll
