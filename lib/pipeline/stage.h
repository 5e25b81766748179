// PipelineStage exchanges tensors between a rank and the neighbouring pipeline stages, for Backbone and Learner:
// activations go to the next stage, their gradients to the previous one. Sends are asynchronous. Receivers know the
// shapes, so only elements are sent. Each direction between two stages has its own communicator, which keeps the order
// of messages, so micro-batches may have different sizes. Every stage must make its passes in the order of schedule.h.
// A pass is the forward or backward of one micro-batch through one chunk (a range of the stage's layers,
// stage_split.h).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "dist/mesh.h"
#include "pipeline/schedule.h"
#include "pipeline/stage_split.h"

namespace roll {

/// Not thread-safe.
class PipelineStage {
 public:
  /// `mesh` must outlive the stage. Throws Bug unless it has as many stages as `split`.
  PipelineStage(StageSplit split, Mesh& mesh);

  const StageSplit& split() const { return split_; }
  /// Returns the number of this stage, from 0.
  int64_t index() const { return mesh_.place().pp; }
  PipelineShape shape() const { return {split_.num_stages(), split_.num_chunks()}; }
  bool is_first() const { return index() == 0; }
  bool is_last() const { return index() == split_.num_stages() - 1; }
  /// Returns true if the layer is in one of this stage's chunks. StageSplit::layer_stage() defines it for -1 and for
  /// numbers above the last layer's.
  bool has(int64_t layer) const { return split_.layer_stage(layer) == index(); }
  /// Selects the chunk of this stage (from 0) to which all following calls belong; initially 0.
  void enter(int64_t chunk) { chunk_ = chunk; }
  /// Returns the selected chunk.
  int64_t chunk() const { return chunk_; }
  /// Returns the layers [first, last) of the selected chunk.
  std::pair<int64_t, int64_t> chunk_layers() const { return split_.chunk_layers(index(), chunk_); }
  /// Return true if the selected chunk is the model's first, or last, one.
  bool is_begin() const { return is_first() && chunk_ == 0; }
  bool is_end() const { return is_last() && chunk_ == split_.num_chunks() - 1; }
  /// Returns the pipeline's ranks, one per stage in order. They compute the same micro-batches, and have the same
  /// data-parallel and tensor-parallel place.
  Communicator& ranks() { return mesh_.pp(); }
  /// Returns the first and the last rank of ranks(), which both hold a tied embedding; on middle stages this rank
  /// alone.
  Communicator& ends() { return mesh_.pipeline_ends(); }

  /// Receives the inputs of a forward from the previous stage, and waits for them. `sizes` and `options`: shapes, dtype
  /// and device of the tensors that it sends. Not for the model's first chunk. With gradients enabled, the results are
  /// leaf tensors, whose gradients backward() sends back.
  std::vector<at::Tensor> receive(const std::vector<std::vector<int64_t>>& sizes, const at::TensorOptions& options);
  /// Sends the outputs of a forward to the next stage, without waiting; not for the model's last chunk. They may
  /// include received inputs that are passed on.
  void send(const std::vector<at::Tensor>& outputs);

  /// Runs the backward of the selected chunk's oldest pending forward, and sends the gradients of its inputs to the
  /// previous stage. In the model's last chunk it starts from `loss`; if `loss` is undefined or needs no gradient, it
  /// sends zeros. In the other chunks it waits for the next stage's gradients and ignores `loss`. Throws Bug if no
  /// forward with gradients enabled is pending.
  void backward(const at::Tensor& loss);

  /// Returns the last stage's `result`, a float32 tensor on the CPU, on all stages. The argument of other stages is
  /// ignored. **Collective** over ranks().
  at::Tensor broadcast_result(const at::Tensor& result);

  /// Ends an update: waits until everything is sent. Throws Bug if a forward with gradients enabled still has no
  /// backward.
  void finish();
  /// Returns the wall-clock seconds spent waiting for other stages since the last call of this function.
  double take_waited_s();
  /// Returns the CPU time, in seconds, spent receiving since construction.
  double receiving_cpu_s() const { return receiving_cpu_s_; }

 private:
  /// A forward whose backward is pending.
  struct InFlight {
    std::vector<at::Tensor> inputs, outputs;
  };
  /// Sends the tensors in one message. With several, a message that the neighbour does not receive yet could keep a GPU
  /// from starting the next receive (forecast/launch_order.h).
  void start(Communicator& channel, const std::vector<at::Tensor>& tensors, const char* name);
  std::vector<at::Tensor> await(Communicator& channel, const std::vector<std::vector<int64_t>>& sizes,
                                const at::TensorOptions& options, const char* name);

  StageSplit split_;
  Mesh& mesh_;
  int64_t chunk_ = 0;
  std::vector<std::deque<InFlight>> in_flight_;  // by chunk
  std::deque<std::unique_ptr<Pending>> sent_;
  double waited_s_ = 0, receiving_cpu_s_ = 0;
};

}  // namespace roll
