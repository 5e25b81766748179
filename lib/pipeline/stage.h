// A rank's pipeline stage and its channels to the neighbouring stages: activations go forward, their gradients
// backward. Sends are asynchronous; receivers know the shapes, so only elements travel. Each direction between two
// stages has its own communicator, in which messages keep their order, so micro-batches may have any sizes.
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
  /// `mesh` must outlive the stage, and have as many stages as `split`.
  PipelineStage(StageSplit split, Mesh& mesh);

  const StageSplit& split() const { return split_; }
  int64_t index() const { return mesh_.place().pp; }
  PipelineShape shape() const { return {split_.num_stages(), split_.num_chunks()}; }
  bool is_first() const { return index() == 0; }
  bool is_last() const { return index() == split_.num_stages() - 1; }
  bool has(int64_t layer) const { return split_.layer_stage(layer) == index(); }
  /// Selects the chunk of this stage's layers for the following passes.
  void enter(int64_t chunk) { chunk_ = chunk; }
  int64_t chunk() const { return chunk_; }
  /// Returns the first layer of the selected chunk, and the layer behind its last.
  std::pair<int64_t, int64_t> chunk_layers() const { return split_.chunk_layers(index(), chunk_); }
  /// Return true if the selected chunk begins, or ends, the model.
  bool is_begin() const { return is_first() && chunk_ == 0; }
  bool is_end() const { return is_last() && chunk_ == split_.num_chunks() - 1; }
  Communicator& ranks() { return mesh_.pp(); }
  Communicator& ends() { return mesh_.pipeline_ends(); }

  /// Receives the inputs of any chunk but the model's first, and waits for them. With gradients enabled, they are
  /// leaves whose gradients backward() sends back.
  std::vector<at::Tensor> receive(const std::vector<std::vector<int64_t>>& sizes, const at::TensorOptions& options);
  /// Sends outputs, computed here or passed on, from any chunk but the model's last to the next one.
  void send(const std::vector<at::Tensor>& outputs);

  /// Runs backward of this chunk's oldest forward with gradients, and sends its inputs' gradients back. It starts from
  /// `loss` at the model's end (undefined or independent of the inputs: zero gradients), elsewhere from received
  /// gradients, for which it waits.
  void backward(const at::Tensor& loss);

  /// Returns the last stage's result on all stages; other stages' `result` is ignored. **Collective** over ranks().
  at::Tensor broadcast_result(const at::Tensor& result);

  /// Waits until everything is sent.
  void finish();
  /// Returns the seconds spent waiting for other stages since the last call.
  double take_waited_s();
  /// Returns the CPU seconds spent receiving so far.
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
