// AdamW and Muon over flat buffers, for Learner. All parameters of a model are in one contiguous tensor and their
// gradients in another, so reductions take few large collectives, and AdamW's update one fused call. A bucket is a
// section of the buffers, and each data-parallel rank has optimizer state only for its slice of each bucket
// (flat_layout.h): 1 / num_slices of the model. An update changes the master weights, which are float32, and rounds
// them to the parameters. For bfloat16, a master is the parameter with 16 more bits; for float16, masters are a
// separate tensor. Gradients are float32. Legend: N elements of a buffer (FlatLayout::total).
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
#include "optim/muon.h"

namespace roll {

/// Hyperparameters of AdamW, besides the learning rate.
struct AdamWConfig {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.0;  // matrices only: vectors (norms, biases) never decay
};

/// Split of a model's optimizer state over the data-parallel ranks. The functions get a parameter's name.
struct SliceOptions {
  int64_t num_slices = 1;                                       // number of ranks
  int64_t index = 0;                                            // this rank's slice
  std::function<int64_t(const std::string& name)> copies = {};  // FlatParameter::copies; empty: 1
  std::function<int64_t(const std::string& name)> unit = {};    // FlatParameter::unit of matrices; empty: -1
  std::function<bool(const std::string& name)> uses_muon = {};  // FlatParameter::uses_muon; empty: AdamW updates all
};

/// The optimizer state of a parameter's elements in this rank's slice.
struct StatePiece {
  int64_t parameter = 0;       // index into names()
  int64_t begin = 0, end = 0;  // elements [begin, end) of this rank's (possibly tensor-parallel) parameter, flattened
  /// Views [end - begin] by name: "first_moment", "second_moment" unless Muon updates the parameter, with bfloat16
  /// "low_bits", with float16 "master".
  std::vector<std::pair<std::string, at::Tensor>> states;
};

/// The functions are not collective; the caller reduces gradients and gathers parameters.
class FlatOptimizer {
 public:
  /// Moves the storage of `parameters` (leaf tensors of one dtype and device) into the flat buffer; the tensors stay
  /// the same objects, and must not be resized or replaced afterwards. Their grad() becomes a view of the gradient
  /// buffer, to which autograd adds. Throws Bug if there are no parameters.
  FlatOptimizer(const NamedTensors& parameters, AdamWConfig config, const SliceOptions& slices = {},
                MuonConfig muon = {});

  /// Sets all gradients to zero. Must be called before the first backward of an update.
  void zero_grad();

  const FlatLayout& layout() const { return layout_; }
  /// Returns the names of the parameters, in the order of the constructor; indices of parameters refer to it.
  const std::vector<std::string>& names() const { return names_; }
  /// Returns the shape of this rank's part of a parameter.
  at::IntArrayRef shape(int64_t parameter) const { return tensors_[parameter].sizes(); }

  /// Return a bucket's gradient [Bucket::size], and its part in this rank's slice [size / num_slices]; both float32.
  at::Tensor gradient(int64_t bucket) const { return gradients_[bucket]; }
  at::Tensor gradient_slice(int64_t bucket) const {
    return is_gathered(bucket) ? gradient_slices_[bucket] : own_slice(gradient(bucket));
  }
  /// Return a bucket's parameters [Bucket::size], and those of this rank's slice, in the model's dtype.
  at::Tensor parameters(int64_t bucket) const { return parameters_[bucket]; }
  at::Tensor parameter_slice(int64_t bucket) const {
    return parameter_slices_[bucket].defined() ? parameter_slices_[bucket] : own_slice(parameters(bucket));
  }

  // For ZeRO stage 3 (gathered_layers.h):

  /// Returns true if the bucket has a unit (Bucket::unit). All its parameters and gradients except this rank's slices
  /// may then be freed.
  bool is_gathered(int64_t bucket) const { return layout_.buckets[bucket].unit >= 0; }
  /// Returns true if all parameters of the bucket are in memory.
  bool is_whole(int64_t bucket) const { return parameters_[bucket].defined(); }
  /// Frees the bucket's parameters; only a copy of this rank's slice stays.
  void keep_slice(int64_t bucket);
  /// Allocates memory for all parameters of the bucket, which the caller fills.
  void make_whole(int64_t bucket);
  /// Frees the copy that keep_slice() made; the bucket must be whole.
  void forget_slice(int64_t bucket) { parameter_slices_[bucket].reset(); }
  /// Allocates the bucket's gradient, filled with zeros; gradient_slice() is separate memory, and stays.
  void open_gradient(int64_t bucket);
  /// Frees the bucket's gradient.
  void close_gradient(int64_t bucket);

  /// Returns the sum of the squares of the gradient over this rank's slices, 0-dim float64, on the GPU if the
  /// parameters are there. A parameter with n copies counts 1/n, so that the sum over ranks is right.
  at::Tensor squared_gradient() const;

  /// Makes one AdamW step (Loshchilov & Hutter 2019) with bias correction on this rank's slices; the caller then
  /// gathers the parameters of the other slices. Where Muon updates, instead replaces the gradient by the direction of
  /// the update: the caller then calls make_muon_updates() (muon_ranks.h) and descend(). If max_norm > 0, first scales
  /// the gradient by min(1, max_norm / (norm + 1e-6)), like torch.nn.utils.clip_grad_norm_. norm: L2 norm of the whole
  /// gradient, over all ranks.
  void step(double lr, double norm, double max_norm);
  /// Ends the step of step(lr, ...) where Muon updates: subtracts lr times the gradient, which holds the updates.
  void descend(double lr);

  /// Returns the gradient of a parameter, in its shape: a view of gradient(), which must not be freed.
  at::Tensor named_gradient(int64_t parameter) const { return view_in(gradients_, parameter); }

  /// Returns all of this rank's state in parameter order, for saving and loading in place. Parameters without elements
  /// in this rank's slices are left out.
  std::vector<StatePiece> state_pieces() const;
  /// Returns the number of steps made so far; the bias correction depends on it.
  int64_t num_steps() const { return num_steps_; }
  void set_num_steps(int64_t steps) { num_steps_ = steps; }

  /// Returns the number of elements of all parameters on this rank.
  int64_t num_parameters() const;
  /// Returns the allocated bytes of moments and masters on this rank.
  int64_t state_bytes() const;

  /// Frees device memory until reload(): moves moments and masters to host memory, drops gradients and, if
  /// keeps_parameters is false, moves the parameters too. Nothing else may be called in between. Asynchronous.
  void offload(bool keeps_parameters);
  /// Moves everything back. Asynchronous: step() waits for the moments, which come while the device does other work.
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
  static const std::array<std::pair<const char*, at::Tensor FlatOptimizer::*>, 4> kStates;
  void step_split_slices(double lr, double scale);
  void add_momenta(double scale);
  /// Returns true if parameters in the bucket have that state.
  bool has_state(at::Tensor FlatOptimizer::*state, int64_t bucket) const;
  void bind_parameters();
  void bind_gradients();
  std::vector<at::Tensor> states() const;
  void move_states(at::Device device);
  /// Makes the device's current stream wait for reload()'s copies.
  void await_states() const;

  AdamWConfig config_;
  MuonConfig muon_;
  SliceOptions slices_;
  std::vector<std::string> names_;
  std::vector<at::Tensor> tensors_;
  FlatLayout layout_;
  at::TensorOptions options_;                   // options of the parameters
  Buffers parameters_;                          // in the model's dtype
  Buffers gradients_;                           // float32
  Buffers parameter_slices_, gradient_slices_;  // this rank's slices; parameters only while the bucket is not whole
  at::Tensor low_bits_;                         // [N / num_slices] int16, for bfloat16: low bits of the masters
  at::Tensor masters_;                          // [N / num_slices] float32, for float16
  at::Tensor first_moment_;                     // [N / num_slices] float32; with Muon, its momentum
  at::Tensor second_moment_;                    // [muon_begin / num_slices] float32
  int64_t num_steps_ = 0;
  at::Device device_ = at::kCPU;  // the parameters' device before offload()
  bool keeps_parameters_ = true;
  std::optional<HostCopy> saved_states_, saved_parameters_;
  mutable std::optional<c10::Event> arrived_;  // completed when reload() has copied the states
};

}  // namespace roll
