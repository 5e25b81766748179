// AdamW over flat buffers: all parameters of a model are in one contiguous tensor and their gradients in another, so
// that reductions take few large collectives, and the update one fused call. Each rank has optimizer state only for its
// slice of each bucket (flat_layout.h): 1 / num_slices of the model. bfloat16 parameters are extended to float32
// masters by 16 more bits for the slices; float16 ones have whole masters. Gradients are float32; autograd's own
// gradient of a parameter is freed once it is added.
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
  double weight_decay = 0.0;  // matrices only: vectors (norms, biases) never decay
};

/// Sharding of a model's optimizer state over ranks.
struct SliceOptions {
  int64_t num_slices = 1;
  int64_t index = 0;                                            // this rank's slice
  std::function<int64_t(const std::string& name)> copies = {};  // FlatParameter::copies; empty: 1
  std::function<int64_t(const std::string& name)> unit = {};    // FlatParameter::unit of matrices; empty: -1
};

/// An optimizer's state of one parameter: elements [begin, end) of its (possibly tensor-parallel) flattened tensor.
struct StatePiece {
  int64_t parameter = 0;  // index into names()
  int64_t begin = 0, end = 0;
  /// Views of "first_moment", "second_moment" and, if any, "low_bits" or "master".
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
  /// Returns the shape of this rank's part of a parameter.
  at::IntArrayRef shape(int64_t parameter) const { return tensors_[parameter].sizes(); }

  /// Returns a bucket's gradient, or this rank's slice: [size] float32.
  at::Tensor gradient(int64_t bucket) const { return gradients_[bucket]; }
  at::Tensor gradient_slice(int64_t bucket) const {
    return is_gathered(bucket) ? gradient_slices_[bucket] : own_slice(gradient(bucket));
  }
  /// Returns a bucket's parameters, or this rank's slice: [size] in the model's dtype.
  at::Tensor parameters(int64_t bucket) const { return parameters_[bucket]; }
  at::Tensor parameter_slice(int64_t bucket) const {
    return parameter_slices_[bucket].defined() ? parameter_slices_[bucket] : own_slice(parameters(bucket));
  }

  /// Buckets with a unit (ZeRO stage 3): all but this rank's slice may be freed; make_whole() returns as memory that
  /// the caller fills. The whole gradient may be freed, too; its slice stays.
  bool is_gathered(int64_t bucket) const { return layout_.buckets[bucket].unit >= 0; }
  bool is_whole(int64_t bucket) const { return parameters_[bucket].defined(); }
  void keep_slice(int64_t bucket);
  void make_whole(int64_t bucket);
  void forget_slice(int64_t bucket) { parameter_slices_[bucket].reset(); }  // the whole bucket contains it
  void open_gradient(int64_t bucket);                                       // fills it with zeros
  void close_gradient(int64_t bucket);

  /// Returns the sum of squares over this rank's slices, 0-dim float64, on their device; a parameter with n copies
  /// counts 1/n.
  at::Tensor squared_gradient() const;

  /// Makes one AdamW step (Loshchilov & Hutter 2019) with bias correction on this rank's slices; the caller gathers the
  /// others' parameters. First scales the gradient by min(1, max_norm / (norm + 1e-6)), like
  /// torch.nn.utils.clip_grad_norm_. max_norm <= 0 does not clip.
  void step(double lr, double norm, double max_norm);

  /// Returns the gradient of a parameter: a view into gradient().
  at::Tensor named_gradient(int64_t parameter) const { return view_in(gradients_, parameter); }

  /// Returns all of this rank's state, for saving and loading, in parameter order; skips parameters outside its slices.
  std::vector<StatePiece> state_pieces() const;
  int64_t num_steps() const { return num_steps_; }
  void set_num_steps(int64_t steps) { num_steps_ = steps; }

  int64_t num_parameters() const;
  /// Returns the allocated bytes of moments and masters.
  int64_t state_bytes() const;

  /// Frees device memory until reload(): moves moments and masters to the host, drops gradients and, without
  /// `keeps_parameters`, moves the parameters too. Call nothing else in between. Both are asynchronous; reload() copies
  /// the state for step() while the device does other work.
  void offload(bool keeps_parameters);
  void reload();

 private:
  using Buffers = std::vector<at::Tensor>;  // [size] of each bucket; undefined: freed
  /// Allocates all buckets as one tensor, unless some are gathered.
  Buffers make_buffers(const at::TensorOptions& options) const;
  /// Returns tensors that cover all buffers, and nothing else.
  Buffers whole_storages(const Buffers& buffers) const;
  at::Tensor view_in(const Buffers& buffers, int64_t parameter) const;
  at::Tensor own_slice(const at::Tensor& bucket) const;
  /// Returns this rank's slice of a bucket in a buffer that holds only slices.
  at::Tensor bucket_state(const at::Tensor& states, int64_t bucket) const;
  at::Tensor squared_on_device() const;
  /// Names and members of moments and master data; undefined if the parameters' dtype needs none.
  static const std::array<std::pair<const char*, at::Tensor FlatAdamW::*>, 4> kStates;
  void step_split_slices(double lr, double scale);
  void bind_parameters();
  void bind_gradients();
  std::vector<at::Tensor> states() const;
  void move_states(at::Device device);
  /// Makes the device's current stream wait for reload()'s copies.
  void await_states() const;

  AdamWConfig config_;
  SliceOptions slices_;
  std::vector<std::string> names_;
  std::vector<at::Tensor> tensors_;
  FlatLayout layout_;
  at::TensorOptions options_;                   // options of the parameters
  Buffers parameters_;                          // in the model's dtype
  Buffers gradients_;                           // float32
  Buffers parameter_slices_, gradient_slices_;  // this rank's; parameters only while not whole
  at::Tensor low_bits_;                         // [N / num_slices] int16, for bfloat16: low bits of the masters
  at::Tensor masters_;                          // [N / num_slices] float32, for float16
  at::Tensor first_moment_;                     // [N / num_slices] float32
  at::Tensor second_moment_;                    // [N / num_slices] float32
  int64_t num_steps_ = 0;
  at::Device device_ = at::kCPU;  // the parameters' device before offload()
  bool keeps_parameters_ = true;
  std::optional<HostCopy> saved_states_, saved_parameters_;
  mutable std::optional<c10::Event> arrived_;
};

}  // namespace roll
