// Runs forward passes without gradient over a share of sequences, in micro-batches; used by role_forwards.h and judges.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>

#include "dist/mesh.h"
#include "experience/batch.h"
#include "model/experts.h"
#include "step/batches.h"
#include "track/progress.h"

namespace roll {

/// Computes a tensor [T] or [N, T] of one micro-batch on its device.
struct ForwardPass : std::function<at::Tensor(const Batch& micro_batch)> {
  using function::function;
  std::function<at::Tensor()> empty_pass{};  // runs an empty micro-batch; null: not needed
  std::shared_ptr<PipelineStage>
      stage{};  // pipeline stage; only the last stage returns results, which all then get; null: no pipeline
};

/// Makes a ForwardPass of `compute`, which calls this model.
template <class Model, class F>
ForwardPass forward_pass(const Model& model, F compute) {
  ForwardPass pass(std::move(compute));
  pass.empty_pass = empty_pass(model.backbone(), {});
  pass.stage = model.parallel().stage;
  return pass;
}

/// Returns the results of `compute` for the share: [T] or [N, T] float32 on the CPU; [0] for an empty share.
/// `micro_batches` holds each sequence of `share` once. `sharing`: alignment for prefix sharing; 0: off. **Collective**
/// over the ranks that share a model; all have the same share.
at::Tensor forward_share(const Batch& share, const Partition& micro_batches, at::Device device,
                         const ModelParallel& parallel, const ForwardPass& compute, const Phase& phase = {},
                         int64_t sharing = 0);

}  // namespace roll
