#include "model/device.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "model/init_spec.h"
#include "model/log_probs.h"
#include "model/transformer.h"

namespace roll {

TEST_CASE("deterministic kernels are asked for, and change nothing on the CPU", "[model]") {
  InitSizes sizes;
  sizes.vocab = 71;
  sizes.hidden = 32;
  sizes.layers = 2;
  sizes.kv_heads = 2;
  const auto results = [&] {
    const Transformer model = Transformer::init(make_spec(sizes, {}), 1);
    const PackedTokens tokens = pack_tokens({{3, 1, 4, 1, 5}, {9, 2, 6}});
    std::vector<at::Tensor> found = {token_log_probs(model, tokens, 1.0, true).log_probs};
    found[0].sum().backward();
    for (const auto& [name, tensor] : model.parameters()) found.push_back(tensor.grad());
    return found;
  };
  const auto before = results();
  use_deterministic_kernels();
  const at::Context& context = at::globalContext();
  CHECK((context.deterministicAlgorithms() && !context.deterministicAlgorithmsWarnOnly()));
  CHECK_FALSE(context.deterministicFillUninitializedMemory());
  const auto after = results();
  at::globalContext().setDeterministicAlgorithms(false, false);
  for (size_t i = 0; i < before.size(); ++i) CHECK(at::equal(before[i], after[i]));
}

}  // namespace roll
