// A rank's pipeline stage, and its exchange of tensors with the neighbouring stages: activations go to the next stage,
// their gradients to the previous one. Sends are asynchronous. Receivers know the shapes, so only elements are sent.
// Each direction between two stages has its own communicator, which keeps the order of messages, so micro-batches may
// have different sizes. Every stage must make its passes in the order of schedule.h. A pass is the forward or backward
// of one micro-batch through one chunk (a range of the stage's layers, stage_split.h).
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

class PipelineStage {
 public:
  /// `mesh` must outlive the stage. Throws Bug unless it has as many stages as `split`.
  PipelineStage(StageSplit split, Mesh& mesh);

  const StageSplit& split() const { return split_; }
  /// Number of this stage, from 0.
  int64_t index() const { return mesh_.place().pp; }
  PipelineShape shape() const { return {split_.num_stages(), split_.num_chunks()}; }
  bool is_first() const { return index() == 0; }
  bool is_last() const { return index() == split_.num_stages() - 1; }
  /// True if the layer is in one of this stage's chunks; see StageSplit::layer_stage() for numbers that are no layer's.
  bool has(int64_t layer) const { return split_.layer_stage(layer) == index(); }
  /// Selects the chunk of this stage (from 0) to which all following calls belong; initially 0.
  void enter(int64_t chunk) { chunk_ = chunk; }
  /// The selected chunk.
  int64_t chunk() const { return chunk_; }
  /// Returns the first layer of the selected chunk, and the layer behind its last.
  std::pair<int64_t, int64_t> chunk_layers() const { return split_.chunk_layers(index(), chunk_); }
  /// True if the selected chunk has the model's first, or last, layers.
  bool is_begin() const { return is_first() && chunk_ == 0; }
  bool is_end() const { return is_last() && chunk_ == split_.num_chunks() - 1; }
  /// The ranks of all stages that compute the same micro-batches with the same shards, in the order of stages.
  Communicator& ranks() { return mesh_.pp(); }
  /// The first and the last one of these ranks, which both hold a tied embedding; on middle stages this rank alone.
  Communicator& ends() { return mesh_.pipeline_ends(); }

  /// Receives the inputs of a forward from the previous stage, and waits for them: tensors of these sizes, as sent
  /// there. Not for the model's first chunk. With gradients enabled, the results are leaves whose gradients backward()
  /// sends back.
  std::vector<at::Tensor> receive(const std::vector<std::vector<int64_t>>& sizes, const at::TensorOptions& options);
  /// Sends the outputs of a forward to the next stage, without waiting; not for the model's last chunk. They may
  /// include received inputs that are passed on.
  void send(const std::vector<at::Tensor>& outputs);

  /// Runs the backward of the selected chunk's oldest forward that had gradients enabled, and sends the gradients of
  /// its inputs to the previous stage. In the model's last chunk it starts from `loss` (undefined, or without gradient:
  /// sends zeros); in the others it waits for the next stage's gradients and ignores `loss`. Throws Bug if there is no
  /// such forward.
  void backward(const at::Tensor& loss);

  /// Returns the last stage's `result` on all stages; it must be a float32 tensor on the CPU. Ignored on other stages.
  /// **Collective** over ranks().
  at::Tensor broadcast_result(const at::Tensor& result);

  /// Ends an update: waits until everything is sent. Throws Bug if a forward has not had its backward.
  void finish();
  /// Returns the seconds spent waiting for other stages since the last call of this function.
  double take_waited_s();
  /// Returns the CPU time, in seconds, spent receiving since construction.
  double receiving_cpu_s() const { return receiving_cpu_s_; }

 private:
  struct InFlight {
    std::vector<at::Tensor> inputs, outputs;
  };
  void start(Communicator& channel, const at::Tensor& tensor, const char* name);
  at::Tensor await(Communicator& channel, at::IntArrayRef sizes, const at::TensorOptions& options, const char* name);

  StageSplit split_;
  Mesh& mesh_;
  int64_t chunk_ = 0;
  std::vector<std::deque<InFlight>> in_flight_;  // by chunk
  std::deque<std::unique_ptr<Pending>> sent_;
  double waited_s_ = 0, receiving_cpu_s_ = 0;
};

}  // namespace roll
