// Forward passes without gradient: micro-batch after micro-batch of a share of sequences, or a whole step that every
// rank has, of which each data rank computes its share.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "dist/mesh.h"
#include "experience/batch.h"
#include "step/batches.h"
#include "track/progress.h"

namespace roll {

/// Takes one micro-batch, on its device, and gives tensors [T] of it.
using ForwardPass = std::function<std::vector<at::Tensor>(const Batch& micro_batch)>;

/// `micro_batches` holds each sequence of `share` once. Returns the `num_outputs` tensors of `compute` for the share:
/// [num_outputs, T] float32 on the CPU. **Collective** over the ranks that share a model, of which each has this share.
at::Tensor forward_share(const Batch& share, const Partition& micro_batches, at::Device device, int64_t num_outputs,
                         const ForwardPass& compute, const Phase& phase = {});

/// Of a whole step, [T] each, the same bits on every rank. **Collective**.
std::vector<at::Tensor> forward_step(const Batch& step, const BatchRule& rule, at::Device device, int64_t num_outputs,
                                     Mesh& mesh, const ForwardPass& compute, const Phase& phase = {});

}  // namespace roll
