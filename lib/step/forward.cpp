#include "step/forward.h"

#include <ATen/ATen.h>

namespace roll {

at::Tensor forward_share(const Batch& share, const Partition& micro_batches, at::Device device,
                         const ForwardPass& compute, const Phase& phase) {
  const at::NoGradGuard no_grad;
  at::Tensor all = at::zeros({share.tokens.num_tokens()}, at::kFloat);
  std::optional<Progress> progress;
  if (phase.log) progress.emplace(*phase.log, phase.name, std::ssize(micro_batches), "micro-batches");
  std::vector<at::Tensor> computed, places;
  for (const auto& sequences : micro_batches) {
    if (progress) progress->advance();
    if (sequences.empty()) continue;
    computed.push_back(compute(to_device(select(share, sequences), device)).to(at::kFloat));
    places.push_back(token_indices(share, sequences));
  }
  // Fetched together: a device need not wait for the host between micro-batches.
  if (!computed.empty()) all.index_copy_(0, at::cat(places), at::cat(computed).to(at::kCPU));
  return all;
}

at::Tensor forward_step(const Batch& step, const BatchRule& rule, at::Device device, Mesh& mesh,
                        const ForwardPass& compute, const Phase& phase) {
  const Partition mine = plan_ranks(lengths_of(step), rule, mesh.dp_size())[mesh.place().dp];
  // Each position is filled by exactly one data rank, so the sum over them is exact.
  at::Tensor all = forward_share(step, mine, device, compute, phase);
  mesh.dp().all_reduce_sum(all, "forward results");
  return all;
}

}  // namespace roll
