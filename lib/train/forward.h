// Forward passes without gradient over a whole step: each data rank computes its share of the sequences, and every rank
// gets all results, in data order.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "dist/mesh.h"
#include "experience/experience.h"
#include "track/progress.h"
#include "train/batches.h"

namespace roll {

/// `compute` takes one micro-batch (tokens on `device`, the masks on the CPU) and gives `num_outputs` tensors [T] of
/// it. Returns them for the whole step, [T] float32 on the CPU, the same bits on every rank. **Collective**.
std::vector<at::Tensor> forward_step(
    const Experience& step, const BatchRule& rule, at::Device device, int64_t num_outputs, Mesh& mesh,
    const std::function<std::vector<at::Tensor>(const Experience& micro_batch)>& compute, const Phase& phase = {});

/// Tokens of each sequence.
std::vector<int64_t> lengths_of(const Experience& step);

/// The micro-batch with its tokens and tensors on `device`.
Experience to_device(Experience micro_batch, at::Device device);

}  // namespace roll
