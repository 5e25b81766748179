// Forward passes without gradient over a share of sequences, micro-batch after micro-batch.
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

/// Takes one micro-batch, on its device, and gives a tensor [T] of it, or several as [N, T].
struct ForwardPass : std::function<at::Tensor(const Batch& micro_batch)> {
  using function::function;
  std::function<at::Tensor()> empty_pass{};  // of a micro-batch that holds nothing; null: it needs none
  std::shared_ptr<PipelineStage> stage{};    // whose last one alone gives something, for all of them; null: each does
};

/// `compute`, which asks this model.
template <class Model, class F>
ForwardPass forward_pass(const Model& model, F compute) {
  ForwardPass pass(std::move(compute));
  pass.empty_pass = empty_pass(model.backbone(), {});
  pass.stage = model.parallel().stage;
  return pass;
}

/// `micro_batches` holds each sequence of `share` once. Returns what `compute` gives for the share: [T] or [N, T]
/// float32 on the CPU, [0] of an empty share. **Collective** over the ranks that share a model, of which each has this
/// share. `sharing`: the alignment under which what sequences begin with alike is computed once; 0: it is not.
at::Tensor forward_share(const Batch& share, const Partition& micro_batches, at::Device device,
                         const ModelParallel& parallel, const ForwardPass& compute, const Phase& phase = {},
                         int64_t sharing = 0);

}  // namespace roll
