// A model with adapters that tell: random ones, far from where adapters begin.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "checkpoint/temporary_folder.h"
#include "model/lora.h"
#include "model/transformer.h"

namespace roll::test {

inline Transformer adapted_model(const Transformer& plain, const LoraSpec& lora) {
  const TemporaryFolder folder;
  plain.save(folder / "m");
  Transformer model = Transformer::load(folder / "m", at::kCPU, plain.dtype(), {}, architectures(), lora);
  const at::NoGradGuard no_grad;
  at::manual_seed(7);
  for (const auto& [name, tensor] : model.trained())
    tensor.copy_(name.ends_with(kMagnitude) ? tensor * (1 + 0.3 * at::rand_like(tensor))
                                            : 0.3 * at::randn_like(tensor));
  return model;
}

}  // namespace roll::test
