// Forward passes without gradient over a whole step: each data rank computes its share of the sequences, and every rank
// gets all results, in data order.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "dist/mesh.h"
#include "experience/batch.h"
#include "track/progress.h"
#include "train/batches.h"

namespace roll {

/// `compute` takes one micro-batch (on `device`) and gives `num_outputs` tensors [T] of
/// it. Returns them for the whole step, [T] float32 on the CPU, the same bits on every rank. **Collective**.
std::vector<at::Tensor> forward_step(const Batch& step, const BatchRule& rule, at::Device device, int64_t num_outputs,
                                     Mesh& mesh,
                                     const std::function<std::vector<at::Tensor>(const Batch& micro_batch)>& compute,
                                     const Phase& phase = {});

}  // namespace roll
