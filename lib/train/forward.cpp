#include "train/forward.h"

#include <ATen/ATen.h>

#include "base/error.h"

namespace roll {

namespace {

/// Copies the parts of `from` (a micro-batch's axis) to where its sequences sit on the step's axis.
void scatter(const at::Tensor& from, const std::vector<int64_t>& sequences, const std::vector<int64_t>& step_cu,
             at::Tensor& into) {
  int64_t begin = 0;
  for (const int64_t s : sequences) {
    const int64_t length = step_cu[s + 1] - step_cu[s];
    into.narrow(0, step_cu[s], length).copy_(from.narrow(0, begin, length));
    begin += length;
  }
}

}  // namespace

std::vector<at::Tensor> forward_step(const Batch& step, const BatchRule& rule, at::Device device, int64_t num_outputs,
                                     Mesh& mesh,
                                     const std::function<std::vector<at::Tensor>(const Batch& micro_batch)>& compute,
                                     const Phase& phase) {
  const at::NoGradGuard no_grad;
  const Partition mine = plan_ranks(lengths_of(step), rule, mesh.dp_size())[mesh.place().dp];
  // One [outputs, T] tensor: each position is filled by exactly one data rank, so the sum over them is exact.
  at::Tensor all = at::zeros({num_outputs, step.tokens.num_tokens()}, at::kFloat);
  std::optional<Progress> progress;
  if (phase.log) progress.emplace(*phase.log, phase.name, std::ssize(mine), "micro-batches");
  for (const auto& sequences : mine) {
    if (progress) progress->advance();
    if (sequences.empty()) continue;
    const auto outputs = compute(to_device(select(step, sequences), device));
    ROLL_CHECK_EQ(static_cast<int64_t>(outputs.size()), num_outputs, "compute gives what it was asked for");
    for (int64_t k = 0; k < num_outputs; ++k) {
      at::Tensor row = all[k];
      scatter(outputs[k].to(at::kCPU), sequences, step.tokens.cu_seqlens, row);
    }
  }
  mesh.dp().all_reduce_sum(all, "forward results");
  return all.unbind(0);
}

}  // namespace roll
