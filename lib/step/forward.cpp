#include "step/forward.h"

#include <ATen/ATen.h>

#include "base/error.h"

namespace roll {

at::Tensor forward_share(const Batch& share, const Partition& micro_batches, at::Device device, int64_t num_outputs,
                         const ForwardPass& compute, const Phase& phase) {
  const at::NoGradGuard no_grad;
  at::Tensor all = at::zeros({num_outputs, share.tokens.num_tokens()}, at::kFloat);
  std::optional<Progress> progress;
  if (phase.log) progress.emplace(*phase.log, phase.name, std::ssize(micro_batches), "micro-batches");
  for (const auto& sequences : micro_batches) {
    if (progress) progress->advance();
    if (sequences.empty()) continue;
    const auto outputs = compute(to_device(select(share, sequences), device));
    ROLL_CHECK_EQ(static_cast<int64_t>(outputs.size()), num_outputs, "compute gives what it was asked for");
    const at::Tensor places = token_indices(share, sequences);
    for (int64_t k = 0; k < num_outputs; ++k) all[k].index_copy_(0, places, outputs[k].to(at::kCPU, at::kFloat));
  }
  return all;
}

std::vector<at::Tensor> forward_step(const Batch& step, const BatchRule& rule, at::Device device, int64_t num_outputs,
                                     Mesh& mesh, const ForwardPass& compute, const Phase& phase) {
  const Partition mine = plan_ranks(lengths_of(step), rule, mesh.dp_size())[mesh.place().dp];
  // Each position is filled by exactly one data rank, so the sum over them is exact.
  at::Tensor all = forward_share(step, mine, device, num_outputs, compute, phase);
  mesh.dp().all_reduce_sum(all, "forward results");
  return all.unbind(0);
}

}  // namespace roll
