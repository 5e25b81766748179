// Runs forward passes without gradient over a share, the sequences of a data-parallel rank, in micro-batches. Used by
// role_forwards.h and reward models (collect/reward_models.h). Legend: T tokens of the share or micro-batch, N values
// per token.
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
  /// Called in place of the function for an empty micro-batch, to take part in the model's collectives. Null: not
  /// needed.
  std::function<at::Tensor()> empty_pass{};
  std::shared_ptr<PipelineStage> stage{};  // this rank's pipeline stage; null: no pipeline
};

/// Makes a ForwardPass of `compute`, called as compute(const Batch& micro_batch), which runs `model`. Model:
/// Transformer or ValueModel. `model` must outlive the result.
template <class Model, class F>
ForwardPass forward_pass(const Model& model, F compute) {
  ForwardPass pass(std::move(compute));
  pass.empty_pass = empty_pass(model.backbone(), {});
  pass.stage = model.parallel().stage;
  return pass;
}

/// Returns the results of `compute` for the share: [T] or [N, T] float32 on the CPU, in the order of `share`; [0] for
/// an empty share. Copies each micro-batch to `device`. micro_batches: indices in `share`, each once; a micro-batch may
/// be empty. phase: log and title of a progress display; no log: none. sharing: result of sharing_alignment(); 0: no
/// prefix sharing. **Collective** over the ranks that share a model (`parallel`, pipeline stages); all pass the same
/// share and get the same results.
at::Tensor forward_share(const Batch& share, const Partition& micro_batches, at::Device device,
                         const ModelParallel& parallel, const ForwardPass& compute, const Phase& phase = {},
                         int64_t sharing = 0);

}  // namespace roll
