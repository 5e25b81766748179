#include "step/forward.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "pipeline/stage.h"
#include "step/roles.h"

namespace roll {

at::Tensor forward_share(const Batch& share, const Partition& micro_batches, at::Device device,
                         const ModelParallel& parallel, const ForwardPass& compute, const Phase& phase,
                         int64_t sharing) {
  const at::NoGradGuard no_grad;
  std::optional<Progress> progress;
  const auto passes = forwards(compute.stage ? compute.stage->shape() : PipelineShape(), std::ssize(micro_batches));
  if (phase.log) progress.emplace(*phase.log, phase.name, std::ssize(passes), "micro-batches");
  std::vector<at::Tensor> computed, result_indices;
  for (const PipelinePass& pass : passes) {
    if (progress) progress->advance();
    if (compute.stage) compute.stage->enter(pass.chunk);
    const auto& sequences = micro_batches[pass.micro_batch];
    if (sequences.empty()) {
      if (compute.empty_pass) compute.empty_pass();
      continue;
    }
    Batch part = select(share, sequences);
    if (sharing > 0) part.tokens.tree = prefix_tree(part.tokens, sharing);
    if (const at::Tensor result = compute(to_device(std::move(part), device, parallel)); result.defined())
      computed.push_back(result.to(at::kFloat));
    if (pass.chunk == 0) result_indices.push_back(token_indices(share, sequences));
  }
  const int64_t num_tokens = share.tokens.num_tokens();
  if (compute.stage) compute.stage->finish();
  if (result_indices.empty()) return at::zeros({num_tokens}, at::kFloat);
  // Fetch all results at once, so that the device need not wait for the host between micro-batches.
  at::Tensor all_results = computed.empty() ? at::Tensor() : at::cat(computed, -1).to(at::kCPU);
  if (compute.stage) all_results = compute.stage->broadcast_result(all_results);
  std::vector<int64_t> sizes = all_results.sizes().vec();
  sizes.back() = num_tokens;
  return at::zeros(sizes, at::kFloat).index_copy_(-1, at::cat(result_indices), all_results);
}

}  // namespace roll
