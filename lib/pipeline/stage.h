// A rank's stage of a model that a pipeline of ranks shares, and its channel to the stages beside it: activations go
// forward, their gradients backward. Who sends does not wait; who receives knows shapes, so nothing but numbers
// travels. Each direction between two stages is a communicator of its own, in which messages keep their order, so
// micro-batches may be of any size.
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
  /// `mesh` must outlive the stage, and have as many of them as `split`.
  PipelineStage(StageSplit split, Mesh& mesh);

  const StageSplit& split() const { return split_; }
  int64_t index() const { return mesh_.place().pp; }
  PipelineShape shape() const { return {split_.num_stages(), split_.num_chunks()}; }
  bool is_first() const { return index() == 0; }
  bool is_last() const { return index() == split_.num_stages() - 1; }
  bool has(int64_t layer) const { return split_.stage_of(layer) == index(); }
  /// Passes from here on are through this chunk of the stage's layers.
  void enter(int64_t chunk) { chunk_ = chunk; }
  int64_t chunk() const { return chunk_; }
  /// Whether these begin, or end, the model.
  bool is_begin() const { return is_first() && chunk_ == 0; }
  bool is_end() const { return is_last() && chunk_ == split_.num_chunks() - 1; }
  Communicator& ranks() { return mesh_.pp(); }
  Communicator& ends() { return mesh_.pipeline_ends(); }

  /// What all but the model's first chunk computes on. In training leaves whose gradients backward() sends back. Waits.
  std::vector<at::Tensor> receive(const std::vector<std::vector<int64_t>>& sizes, const at::TensorOptions& options);
  /// What all but the model's last chunk has computed, or been given, for those behind it goes on to the next one.
  void send(const std::vector<at::Tensor>& outputs);

  /// Of the oldest micro-batch whose forward was run with gradients through this chunk: from `loss` at the model's end
  /// (undefined, or not of what was received: its gradients are 0), elsewhere from the gradients that are sent back.
  /// Waits for these.
  void backward(const at::Tensor& loss);

  /// What the last stage has computed, on all of them; elsewhere `result` is not looked at. **Collective** over
  /// ranks().
  at::Tensor broadcast_result(const at::Tensor& result);

  /// Waits until all is sent.
  void finish();
  /// Seconds that it has waited for others since the last call.
  double take_waited_s();
  /// Seconds of a core that receiving has taken so far.
  double receiving_cpu_s() const { return receiving_cpu_s_; }

 private:
  struct UnderWay {
    std::vector<at::Tensor> inputs, outputs;
  };
  void start(Communicator& channel, const at::Tensor& tensor, const char* name);
  at::Tensor await(Communicator& channel, at::IntArrayRef sizes, const at::TensorOptions& options, const char* name);

  StageSplit split_;
  Mesh& mesh_;
  int64_t chunk_ = 0;
  std::vector<std::deque<UnderWay>> under_way_;  // of each chunk
  std::deque<std::unique_ptr<Pending>> sent_;
  double waited_s_ = 0, receiving_cpu_s_ = 0;
};

}  // namespace roll
