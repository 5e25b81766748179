// What ranks that share a model's weights and sequences compute, held to what one has.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <string>
#include <vector>

#include "dist/mesh.h"
#include "model/log_probs.h"
#include "model/some_ids.h"
#include "model/transformer.h"
#include "model/value_model.h"

namespace roll::test {

inline PackedTokens some_tokens() {
  return pack_tokens({some_ids(7, 1), some_ids(1, 2), some_ids(33, 3), some_ids(12, 4)});
}

inline ModelParallel parallel_of(Mesh& mesh) {
  return {.tp = mesh.shape().tp > 1 ? &mesh.tp() : nullptr, .cp = mesh.shape().cp > 1 ? &mesh.cp() : nullptr};
}

/// Outputs [T] and the gradient of every parameter.
struct Outcome {
  std::vector<at::Tensor> outputs;
  NamedTensors gradients;
};

inline at::Tensor weighted(const std::vector<at::Tensor>& outputs) {
  at::Tensor loss;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const at::Tensor ramp = at::linspace(-1, 2, outputs[i].numel(), at::kDouble).add(0.3 * static_cast<double>(i));
    const at::Tensor term = (outputs[i] * ramp).sum();
    loss = loss.defined() ? loss + term : term;
  }
  return loss;
}

template <class Model>
Outcome outcome_of(const Model& model, std::vector<at::Tensor> outputs) {
  weighted(outputs).backward();
  Outcome outcome;
  for (at::Tensor& output : outputs) outcome.outputs.push_back(output.detach());
  for (const auto& [name, tensor] : model.parameters())  // an expert without tokens has none
    outcome.gradients.emplace_back(name, tensor.grad().defined() ? tensor.grad().clone() : at::zeros_like(tensor));
  return outcome;
}

inline Outcome policy_outcome(const Transformer& model, const Recomputation& recompute,
                              const PackedTokens& tokens = some_tokens()) {
  const at::Tensor wanted = at::arange(tokens.num_tokens(), at::kLong).remainder(5).ne(0);
  const TokenLogProbs y = token_log_probs(model, tokens, 0.9, true, recompute, wanted);
  return outcome_of(model, {y.log_probs, y.entropy});
}

inline Outcome value_outcome(const ValueModel& model, const Recomputation& recompute,
                             const PackedTokens& tokens = some_tokens()) {
  return outcome_of(model, {model.values(tokens, recompute)});
}

/// What differs from the whole model's outcome once gradients are summed over ranks and put together.
template <class Model>
std::string differences(const Model& model, Outcome own, Mesh& mesh, const Outcome& whole, double tolerance = 1e-9) {
  std::string wrong;
  const auto compare = [&](const at::Tensor& a, const at::Tensor& b, const std::string& what) {
    const double scale = std::max(1e-3, b.abs().max().item<double>());
    if (!at::allclose(a, b, tolerance, tolerance * scale)) wrong += what + " ";
  };
  for (size_t i = 0; i < own.outputs.size(); ++i)
    compare(own.outputs[i], whole.outputs[i], fmt::format("output {}", i));
  for (size_t i = 0; i < own.gradients.size(); ++i) {
    auto& [name, gradient] = own.gradients[i];
    model.parts().sum_copies(name, gradient);
    mesh.shards().all_reduce_sum(gradient, name);
    compare(model.parts().gather(name, gradient), whole.gradients[i].second, name);
  }
  return wrong;
}

}  // namespace roll::test
