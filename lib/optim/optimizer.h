// AdamW over flat buffers: all parameters of a model live in one contiguous tensor and their gradients in another, so
// that reductions take a few large collectives and the update one fused call.
// Optimizer state exists for this rank's slice of each bucket only (flat_layout.h): 1 / num_slices of the model.
// bfloat16 parameters have beside their slices the 16 bits that make float32 masters of them, float16 ones whole
// masters. The gradient is always float32, and the one that autograd makes of each parameter is freed as soon as it is
// added to it.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/safetensors.h"
#include "device/host_copy.h"
#include "optim/flat_layout.h"

namespace roll {

struct AdamWConfig {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.0;  // of matrices only: vectors (norms, biases) never decay
};

/// How the optimizer state of a model is sharded over ranks.
struct SliceOptions {
  int64_t num_slices = 1;
  int64_t own = 0;                                              // this rank's
  std::function<int64_t(const std::string& name)> copies = {};  // see FlatParameter; empty: 1
  std::function<int64_t(const std::string& name)> unit = {};    // likewise, of matrices; empty: -1
};

/// What an optimizer holds of one parameter: elements [begin, end) of the (possibly tensor-parallel) tensor, flattened.
struct StatePiece {
  int64_t parameter = 0;  // index into names()
  int64_t begin = 0, end = 0;
  /// "first_moment", "second_moment" and, if any, "low_bits" or "master": views.
  std::vector<std::pair<std::string, at::Tensor>> states;
};

class FlatAdamW {
 public:
  /// Moves the storage of `parameters` (leaf tensors of one dtype and device) into a flat buffer; the tensors stay the
  /// same objects. They must not be resized or replaced afterwards.
  FlatAdamW(const NamedTensors& parameters, AdamWConfig config, const SliceOptions& slices = {});

  /// Sets all gradients to zero. Call before the first backward of an update.
  void zero_grad();

  const FlatLayout& layout() const { return layout_; }
  const std::vector<std::string>& names() const { return names_; }
  /// This rank's part of a parameter.
  at::IntArrayRef shape(int64_t parameter) const { return tensors_[parameter].sizes(); }

  /// [size] float32: the gradient of a bucket, and this rank's slice of it.
  at::Tensor gradient(int64_t bucket) const { return gradients_[bucket]; }
  at::Tensor gradient_slice(int64_t bucket) const {
    return is_gathered(bucket) ? gradient_slices_[bucket] : own_slice(gradient(bucket));
  }
  /// [size] model dtype: the parameters of a bucket, and this rank's slice of them.
  at::Tensor parameters(int64_t bucket) const { return parameters_[bucket]; }
  at::Tensor parameter_slice(int64_t bucket) const {
    return parameter_slices_[bucket].defined() ? parameter_slices_[bucket] : own_slice(parameters(bucket));
  }

  /// Of buckets that have a unit: what is more than this rank's slice may go (ZeRO stage 3), and comes back as memory
  /// that the caller fills; so may the gradient, whose slice stays.
  bool is_gathered(int64_t bucket) const { return layout_.buckets[bucket].unit >= 0; }
  bool is_whole(int64_t bucket) const { return parameters_[bucket].defined(); }
  void keep_slice(int64_t bucket);
  void make_whole(int64_t bucket);
  void forget_slice(int64_t bucket) { parameter_slices_[bucket].reset(); }  // the whole one has it
  void open_gradient(int64_t bucket);                                       // zero
  void close_gradient(int64_t bucket);

  /// Sum of squares over this rank's slices, 0-dim float64, still on its device; a parameter with n copies counts 1/n.
  at::Tensor squared_gradient() const;

  /// One AdamW step (Loshchilov & Hutter 2019) with bias correction on this rank's slices; the others' parameters are
  /// the caller's to gather. The gradient is first scaled by min(1, max_norm / (norm + 1e-6)), as
  /// torch.nn.utils.clip_grad_norm_ does. max_norm <= 0 does not clip.
  void step(double lr, double norm, double max_norm);

  /// The gradient of a parameter: a view of gradient().
  at::Tensor named_gradient(int64_t parameter) const { return view_in(gradients_, parameter); }

  /// All of this rank's state, for saving and loading, in order of parameters; one of which it holds nothing is left
  /// out.
  std::vector<StatePiece> state_pieces() const;
  int64_t num_steps() const { return num_steps_; }
  void set_num_steps(int64_t steps) { num_steps_ = steps; }

  int64_t num_parameters() const;
  /// Memory of moments and masters, as the allocator gave it.
  int64_t state_bytes() const;

  /// Frees device memory until reload(): moments and master copy move to the host, gradients are dropped, and without
  /// `keeps_parameters` the parameters move as well. Nothing else may be called in between. The host waits for neither;
  /// what reload() brings back for step() alone comes beside what the device is given until then.
  void offload(bool keeps_parameters);
  void reload();

 private:
  using Buffers = std::vector<at::Tensor>;  // [size] of each bucket; undefined: not here
  /// Of which buckets lie one behind the other, unless some are gathered.
  Buffers make_buffers(const at::TensorOptions& options) const;
  /// Tensors that hold all of them, and nothing else.
  Buffers storages_of(const Buffers& buffers) const;
  at::Tensor view_in(const Buffers& buffers, int64_t parameter) const;
  at::Tensor own_slice(const at::Tensor& bucket) const;
  /// This rank's slice of a bucket in a buffer that holds nothing but such slices.
  at::Tensor state_of(const at::Tensor& states, int64_t bucket) const;
  at::Tensor squared_on_device() const;
  /// Moments and what masters take, each with its name; undefined where the parameters' dtype needs none.
  static const std::array<std::pair<const char*, at::Tensor FlatAdamW::*>, 4> kStates;
  void step_split_slices(double lr, double scale);
  void bind_parameters();
  void bind_gradients();
  std::vector<at::Tensor> states() const;
  void move_states(at::Device device);
  /// The device's current stream goes on once what reload() brings is there.
  void await_states() const;

  AdamWConfig config_;
  SliceOptions slices_;
  std::vector<std::string> names_;
  std::vector<at::Tensor> tensors_;
  FlatLayout layout_;
  at::TensorOptions options_;                   // of the parameters
  Buffers parameters_;                          // in the model's dtype
  Buffers gradients_;                           // in float32
  Buffers parameter_slices_, gradient_slices_;  // this rank's of gathered buckets, the first where these are not whole
  at::Tensor low_bits_;       // [N / num_slices] int16, of bfloat16 parameters: what rounding their masters left
  at::Tensor masters_;        // [N / num_slices] float32, of float16 ones
  at::Tensor first_moment_;   // [N / num_slices] float32
  at::Tensor second_moment_;  // [N / num_slices] float32
  int64_t num_steps_ = 0;
  at::Device home_ = at::kCPU;  // where offload() found the parameters
  bool keeps_parameters_ = true;
  std::optional<HostCopy> saved_states_, saved_parameters_;
  mutable std::optional<c10::Event> arrived_;
};

}  // namespace roll
