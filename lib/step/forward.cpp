#include "step/forward.h"

#include <ATen/ATen.h>

namespace roll {

at::Tensor forward_share(const Batch& share, const Partition& micro_batches, at::Device device,
                         const ForwardPass& compute, const Phase& phase) {
  const at::NoGradGuard no_grad;
  at::Tensor all;
  std::optional<Progress> progress;
  if (phase.log) progress.emplace(*phase.log, phase.name, std::ssize(micro_batches), "micro-batches");
  for (const auto& sequences : micro_batches) {
    if (progress) progress->advance();
    if (sequences.empty()) continue;
    const at::Tensor computed = compute(to_device(select(share, sequences), device)).to(at::kCPU, at::kFloat);
    if (!all.defined()) {
      std::vector<int64_t> sizes = computed.sizes().vec();
      sizes.back() = share.tokens.num_tokens();
      all = at::zeros(sizes, at::kFloat);
    }
    all.index_copy_(-1, token_indices(share, sequences), computed);
  }
  return all.defined() ? all : at::zeros({share.tokens.num_tokens()}, at::kFloat);
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
