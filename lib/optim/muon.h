// Muon (Jordan et al. 2024, kellerjordan.github.io/posts/muon), as scaled by Liu et al. 2025 ("Muon is scalable for LLM
// training", arXiv:2502.16982), for FlatOptimizer: the arithmetic of one update. For a matrix W [R, C] with gradient G,
//
//   M <- mu M + (1 - mu) G                              momentum; its scale does not matter, because O has none
//   O  = orthogonalised((1 - mu) G + mu M)              Nesterov's direction
//   W <- (1 - lr * weight_decay) W - lr 0.2 sqrt(max(R, C)) O
//
// orthogonalised(X) replaces the singular values of X by values near 1, so an update moves all directions of W equally
// far. O has elements of about 1 / sqrt(max(R, C)), and AdamW's updates have elements of 0.2 to 0.4: hence the factor,
// with which Muon takes AdamW's learning rate and weight decay.
// Assumption: X is a linear map between hidden vectors. Embeddings, heads, routers, vectors and the factors of adapters
// are none, so AdamW updates them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace roll {

/// Hyperparameters of Muon, besides the learning rate and the weight decay.
struct MuonConfig {
  double momentum = 0.95;  // mu
  int64_t num_steps = 5;   // steps of the Newton-Schulz iteration
};

/// Adds `gradient` to `momentum` (M above), and replaces it by Nesterov's direction; both [n], in place.
void add_momentum(const at::Tensor& momentum, const at::Tensor& gradient, double mu);

/// Returns 0.2 sqrt(max(R, C)) O for the direction X [R, C] of a whole matrix, in the dtype of X. O is the result of
/// num_steps Newton-Schulz steps from X / norm(X): X <- a X + (b A + c A^2) X with A = X X^T and Jordan's a = 3.4445,
/// b = -4.775, c = 2.0315. X is float32: a singular value at the edge of rounding grows by up to a^5 = 485, so bfloat16
/// would make the update depend on the layout. Returns zeros for zeros.
at::Tensor muon_update(const at::Tensor& direction, int64_t num_steps);

/// Returns the FLOPs of muon_update() for a matrix [rows, columns].
double muon_flops(int64_t rows, int64_t columns, int64_t num_steps);

/// Updates a slice of master weights in place, [n] float32: w <- decay w - lr update.
void descend(const at::Tensor& masters, const at::Tensor& update, double decay, double lr);
/// Like descend(), for masters that are bfloat16 `high` and int16 `low` (SplitFloat in cuda/adamw_step.h).
void descend_split(const at::Tensor& high, const at::Tensor& low, const at::Tensor& update, double decay, double lr);

}  // namespace roll
