// Runs forward passes without gradient over the sequences of a data-parallel rank (its share), in micro-batches; used
// by role_forwards.h and reward models (collect/reward_models.h). Legend: T tokens of the share or micro-batch, N
// values per token.
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

/// Function that computes a tensor [T] or [N, T] of one micro-batch on its device; see forward_pass(). Pipeline stages
/// other than the last return an undefined tensor.
struct ForwardPass : std::function<at::Tensor(const Batch& micro_batch)> {
  using function::function;
  /// Takes part in the model's collectives if this rank's micro-batch is empty and others' are not; null: not needed.
  std::function<at::Tensor()> empty_pass{};
  std::shared_ptr<PipelineStage> stage{};  // this rank's pipeline stage; null: no pipeline
};

/// Makes a ForwardPass of `compute`, a function of a micro-batch that calls `model` and keeps a reference to it.
template <class Model, class F>
ForwardPass forward_pass(const Model& model, F compute) {
  ForwardPass pass(std::move(compute));
  pass.empty_pass = empty_pass(model.backbone(), {});
  pass.stage = model.parallel().stage;
  return pass;
}

/// Returns the results of `compute` for the share: [T] or [N, T] float32 on the CPU; [0] for an empty share. Copies
/// each micro-batch to `device`. micro_batches: indices in `share`, each once. phase: log and title of a progress
/// display; no log: none. sharing: alignment for prefix sharing (sharing_alignment()); 0: off. **Collective** over the
/// ranks that share a model (`parallel`, pipeline stages); all pass the same share and get the same results.
at::Tensor forward_share(const Batch& share, const Partition& micro_batches, at::Device device,
                         const ModelParallel& parallel, const ForwardPass& compute, const Phase& phase = {},
                         int64_t sharing = 0);

}  // namespace roll
