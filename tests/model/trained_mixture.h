// A mixture of experts trained on a device as on the CPU: on one that tests simulate, and on a GPU.
#pragma once

#include "model/experts.h"
#include "model/init_spec.h"
#include "model/log_probs.h"
#include "model/mixture.h"
#include "model/transformer.h"
#include "ops/grouped_cases.h"
#include "optim/optimizer.h"

namespace roll::test {

/// Of sizes that kernels take.
inline ModelSpec mixture_spec(const char* arch, int64_t hidden, int64_t experts, int64_t chosen) {
  InitSizes sizes;
  sizes.arch = arch, sizes.vocab = 640, sizes.hidden = hidden, sizes.layers = 2;
  sizes.heads = 4, sizes.kv_heads = 2, sizes.head_dim = hidden / 4, sizes.intermediate = 2 * hidden;
  sizes.experts = experts, sizes.experts_per_token = chosen, sizes.expert_intermediate = hidden / 4;
  return make_spec(sizes, {});
}

/// [T, choices] int16: experts that no router would choose, few of them for the first sequences.
inline at::Tensor replayed_experts(const PackedTokens& tokens, const ModelSpec& spec) {
  const at::Tensor first = (tokens.ids * 7 + tokens.positions).cpu();
  const at::Tensor all = first.unsqueeze(1) + at::arange(choices_per_token(spec)).unsqueeze(0);
  return all.remainder(spec.mixture->routing.count - 1).to(at::kShort);  // the last one has no token
}

/// The gradients of a loss of some sequences, by the device's kernels or `launcher`'s; `replays`: through experts that
/// were chosen before, so that rounding chooses no others.
inline void check_trained_mixture(const ModelSpec& spec, at::Device device, at::ScalarType dtype, double tolerance,
                                  bool replays, const Recomputation& recompute,
                                  std::shared_ptr<const LayerLauncher> launcher = nullptr) {
  Transformer there = Transformer::init(spec, 1, device, dtype);
  if (launcher) there.backbone().launch_by(std::move(launcher));
  const Transformer here = Transformer::init(spec, 1);
  for (size_t i = 0; i < here.parameters().size(); ++i) {
    const at::Tensor own = there.parameters()[i].second.detach();
    if (own.dim() == 1) own.add_(at::linspace(-0.5, 0.5, own.numel()).to(device, dtype));  // norms and biases
    if (own.dim() == 2) own.mul_(3);
    here.parameters()[i].second.detach().copy_(own);  // as they were rounded
  }
  FlatOptimizer buffers(there.parameters(), {});  // where experts are one stack, and gradients float32
  std::vector<std::vector<int64_t>> ids = {{5}, {1, 2, 3, 4, 5, 6, 7}, {}, {8, 8, 8}};
  for (int64_t i = 0; i < 60; ++i) ids[2].push_back(i * i * 37 % spec.vocab_size);
  for (const Transformer* model : {&std::as_const(there), &here}) {
    PackedTokens tokens = pack_tokens(ids, model->device());
    if (replays) tokens.routed_experts = replayed_experts(tokens, spec).to(model->device());
    token_log_probs(*model, tokens, 1.0, false, recompute).log_probs.sum().backward();
  }
  for (size_t i = 0; i < here.parameters().size(); ++i) {
    const auto& [name, parameter] = here.parameters()[i];
    const at::Tensor exact = parameter.grad().defined() ? parameter.grad() : at::zeros_like(parameter);
    INFO("gradient of " << name << " " << parameter.sizes() << ", largest number " << exact.abs().max().item<float>());
    CHECK(relative_difference(there.parameters()[i].second.grad(), exact) < tolerance);
  }
}

}  // namespace roll::test
