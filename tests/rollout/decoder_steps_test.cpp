// The sampler over a real (tiny, random) transformer: its tokens and log-probs are those of the packed forward pass.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "decode/decoder.h"
#include "model/log_probs.h"
#include "model/rounded.h"
#include "model/transformer.h"
#include "rollout/fake_model.h"
#include "rollout/sampler.h"
#include "rollout/sampling_params.h"

namespace roll {

namespace {

Transformer tiny_model() {
  ModelSpec spec;
  spec.vocab_size = 61;
  spec.hidden_size = 32;
  spec.intermediate_size = 48;
  spec.num_layers = 2;
  spec.num_heads = 4;
  spec.num_kv_heads = 2;
  spec.head_dim = 8;
  spec.max_positions = 128;
  spec.tied_head = true;
  spec.qkv_bias = true;
  Transformer model = Transformer::init(spec, 7);
  const at::NoGradGuard no_grad;
  for (auto& [name, tensor] : model.parameters())
    if (tensor.dim() == 2) tensor.mul_(12);  // far from uniform, so that a wrong token shows
  return model;
}

std::vector<GenerationRequest> make_requests() {
  std::vector<GenerationRequest> requests;
  for (int64_t g = 0; g < 6; ++g) {
    std::vector<int64_t> prompt;
    for (int64_t i = 0; i < 1 + 4 * g; ++i) prompt.push_back((g * 31 + i * 17) % 61);
    for (int64_t i = 0; i < 3; ++i) requests.push_back({prompt, static_cast<uint64_t>(10 * g + i)});
  }
  return requests;
}

std::vector<Generation> run(const Transformer& model, const SamplingParams& params, int64_t num_slots,
                            const std::vector<GenerationRequest>& requests, int64_t weight_bits = 0) {
  const auto steps = make_step_model(model, {.num_slots = num_slots, .max_length = 60, .weight_bits = weight_bits});
  return generate_with(*steps, requests, params);
}

}  // namespace

TEST_CASE("sampler log-probs are those of the packed forward pass", "[rollout]") {
  const Transformer model = tiny_model();
  const auto requests = make_requests();
  const double temperature = GENERATE(1.0, 0.6);
  const auto generations = run(model, test::sampling_params(temperature), 7, requests);
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < requests.size(); ++i) {
    std::vector<int64_t> ids = requests[i].prompt_ids;
    ids.insert(ids.end(), generations[i].ids.begin(), generations[i].ids.end());
    const auto trainer = token_log_probs(model, pack_tokens({ids}), temperature, false).log_probs;
    for (size_t t = 0; t < generations[i].ids.size(); ++t) {
      CAPTURE(i, t);
      const auto at = static_cast<int64_t>(requests[i].prompt_ids.size() + t) - 1;
      REQUIRE(generations[i].log_probs[t] == Approx(trainer[at].item<float>()).margin(2e-5));
    }
  }
}

TEST_CASE("greedy tokens are the argmax of the packed forward pass", "[rollout]") {
  const Transformer model = tiny_model();
  const auto requests = make_requests();
  const auto generations = run(model, test::sampling_params(0), 100, requests);
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < requests.size(); i += 3) {
    std::vector<int64_t> ids = requests[i].prompt_ids;
    for (const int64_t id : generations[i].ids) {
      const at::Tensor hidden = model.forward(pack_tokens({ids}));
      REQUIRE(model.logits(hidden.slice(0, -1)).argmax().item<int64_t>() == id);
      ids.push_back(id);
    }
    CHECK(generations[i + 1].ids == generations[i].ids);
  }
}

TEST_CASE("responses do not depend on slots, pages, pieces, evictions or guesses, to the bit", "[rollout]") {
  const auto [is_narrow, weight_bits] = GENERATE(table<bool, int64_t>({{false, 0}, {true, 0}, {false, 8}, {false, 4}}));
  const Transformer model = is_narrow ? test::Rounded(tiny_model()).in(at::kBFloat16) : tiny_model();
  const auto requests = make_requests();
  SamplingParams params = test::sampling_params(1);
  const auto together = run(model, params, 100, requests, weight_bits);
  params.shares_prefill = GENERATE(true, false);
  const bool guesses = GENERATE(false, true);
  if (guesses) {
    params.guesser = std::make_shared<TokenGuesser>();
    const auto guessed = run(model, params, 100, requests, weight_bits);  // makes the next guesses right
    for (size_t i = 0; i < requests.size(); ++i) REQUIRE(guessed[i].log_probs == together[i].log_probs);
  }
  const auto [num_slots, pages, max_rows] =
      GENERATE(table<int64_t, int64_t, int64_t>({{1, 8, 100}, {4, 32, 5}, {18, 8, 20}, {18, 60, 512}}));
  const auto steps = make_step_model(model, {.num_slots = num_slots,
                                             .max_length = 60,
                                             .max_rows = max_rows,
                                             .page_size = 8,
                                             .kv_cache_bytes = pages * page_bytes(model, 8),
                                             .weight_bits = weight_bits});
  SamplerCounts counts;
  const auto apart = generate_with(*steps, requests, params, {}, {.counts = &counts});
  CHECK((counts.evictions > 0) == (pages == 8 && num_slots > 1));
  CHECK((counts.guessed_right > 0) == guesses);
  if (weight_bits > 0) CHECK(run(model, params, 100, requests)[0].log_probs != together[0].log_probs);
  for (size_t i = 0; i < requests.size(); ++i) {
    REQUIRE(apart[i].ids == together[i].ids);
    REQUIRE(apart[i].log_probs == together[i].log_probs);
  }
}

TEST_CASE("the KV budget bounds the pages, and less than one sequence is refused", "[rollout]") {
  const Transformer model = tiny_model();
  const int64_t page = page_bytes(model, 16);
  CHECK(page == 2 * 2 * 16 * 2 * 8 * 4);
  const auto pages = [&](int64_t num_slots, int64_t bytes, int64_t most = 0) {
    return make_step_model(model,
                           {.num_slots = num_slots, .max_length = 60, .kv_cache_bytes = bytes, .max_pages = most})
        ->num_pages();
  };
  CHECK(pages(8, 0) == 32);
  CHECK(pages(8, 7 * page + 5) == 7);
  CHECK(pages(2, 100 * page) == 8);
  CHECK(pages(8, 0, 9) == 9);
  CHECK(pages(8, 7 * page, 9) == 7);
  CHECK_THROWS_AS(pages(8, 4 * page - 1), UserError);
  CHECK_THROWS_AS(pages(8, 0, 3), UserError);
}

}  // namespace roll
