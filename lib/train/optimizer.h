// AdamW over one flat buffer: all parameters of a model live in one contiguous tensor (and their gradients in another),
// so that the gradient reduction is one collective, the norm one pass, and the update one fused call.
// Where the parameters are not float32, a float32 master copy and float32 gradient accumulators stand beside them.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

#include "checkpoint/safetensors.h"

namespace roll {

struct AdamWConfig {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.0;  // of matrices only: vectors (norms, biases) never decay
};

class FlatAdamW {
 public:
  /// Moves the storage of `parameters` (leaf tensors of one dtype and device) into a flat buffer; the tensors stay the
  /// same objects. They must not be resized or replaced afterwards.
  FlatAdamW(const NamedTensors& parameters, AdamWConfig config);

  /// Sets all gradients to zero. Call before the first backward of an update.
  void zero_grad();

  /// Adds the gradients of the last backward to the float32 accumulators; nothing to do for float32 parameters.
  void accumulate();

  /// [N] float32: the summed gradient of the update, in the parameters' order (matrices first).
  at::Tensor& gradient() { return gradient_; }

  /// Euclidean norm of gradient() as double.
  double gradient_norm() const;

  /// One AdamW step (Loshchilov & Hutter 2019) with bias correction; the gradient is first scaled by
  /// min(1, max_norm / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_ does. max_norm <= 0 does not clip.
  void step(double lr, double norm, double max_norm);

  /// The gradient as named tensors (views of gradient()).
  NamedTensors named_gradients() const;

  int64_t num_parameters() const { return parameters_.numel(); }

  /// Frees device memory until bring_back(): moments and master copy move to the host, gradients are dropped, and
  /// without `keeps_parameters` the parameters move as well. Nothing else may be called in between.
  void put_away(bool keeps_parameters);
  void bring_back();

 private:
  struct Slice {
    std::string name;
    at::Tensor parameter;
    int64_t offset;
  };
  at::Tensor view_in(const at::Tensor& flat, const Slice& slice) const;
  void bind_parameters();
  void bind_gradients();
  void move_states(at::Device device);

  AdamWConfig config_;
  std::vector<Slice> slices_;
  int64_t num_decayed_ = 0;    // the first elements of the flat buffers belong to matrices
  at::Tensor parameters_;      // [N] model dtype
  at::Tensor master_;          // [N] float32; the same tensor as parameters_ in float32
  at::Tensor model_gradient_;  // [N] model dtype; what autograd accumulates into
  at::Tensor gradient_;        // [N] float32; the same tensor as model_gradient_ in float32
  at::Tensor first_moment_;    // [N] float32
  at::Tensor second_moment_;   // [N] float32
  int64_t num_steps_ = 0;
  at::Device home_ = at::kCPU;  // where put_away() found it
};

}  // namespace roll
