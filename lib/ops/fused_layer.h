// The pieces of a layer between its products as kernels (cuda/layer_kernels.h), differentiable: what layer_ops.h
// computes, in a fraction of the launches and of the memory's traffic. Gradients of weights go into the float32
// gradient that a weight has, else to autograd. Launchers are those of shared pointers, which backward keeps.
// Legend: N rows (tokens), E hidden size, H query heads, Hkv key/value heads, D head size, I inner size.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "ops/layer_launcher.h"
#include "ops/layer_ops.h"

namespace roll {

/// Whether the kernels compute with x and with rows and heads of these sizes: float32 or bfloat16, whose 16 bytes
/// divide all of them and where `weights` begin.
bool takes_layer(const at::Tensor& x, const std::vector<int64_t>& sizes, const std::vector<at::Tensor>& weights);

struct NormedSum {
  at::Tensor sum, normed;  // [N, E]
};

/// sum = x + branch (undefined: x), normed = rms_norm(sum, weight, eps).
NormedSum fused_norm(const LayerLauncher& launcher, const at::Tensor& x, const at::Tensor& branch,
                     const at::Tensor& weight, double eps);

struct HeadShape {
  int64_t heads = 0, kv_heads = 0, head_dim = 0;
};

struct TurnedHeads {
  at::Tensor q, k, v;  // [N, H, D], [N, Hkv, D] twice: views, of which each head's numbers are neighbours
};

/// Out of a packed product qkv [N, (H + 2 Hkv) D], which may be overwritten: queries and keys, each head's norm
/// (undefined: none) and rotation.
TurnedHeads fused_heads(const LayerLauncher& launcher, const at::Tensor& qkv, const HeadShape& shape,
                        const at::Tensor& q_norm, const at::Tensor& k_norm, double eps, const Rotation& rotation);

/// silu(gate) * up of gate_up [N, 2 I], gate first.
at::Tensor fused_gate(const LayerLauncher& launcher, const at::Tensor& gate_up);

/// Rows `ids` [N] of weight [V, E]. Gradients of a row that is read often are added up in float32, in the tokens'
/// order.
at::Tensor fused_rows(const LayerLauncher& launcher, const at::Tensor& weight, const at::Tensor& ids);

}  // namespace roll
