// Models with recurrent states in the sampler: its log-probs are the trainer's, whatever batch, pieces, forks, shared
// beginnings and evictions sequences go through.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "checkpoint/temporary_folder.h"
#include "decode/decoder.h"
#include "model/golden.h"
#include "model/log_probs.h"
#include "model/transformer.h"
#include "rollout/fake_model.h"
#include "rollout/sampler.h"
#include "rollout/sampling_params.h"

namespace roll {

namespace {

constexpr double kClose = 3e-6;  // nats: logits are float32, all before them float64

Transformer load(const std::string& name) {
  const test::TemporaryFolder folder;
  return Transformer::load(test::write_golden_folder(test::read_golden(name), false, folder / "m"), at::kCPU,
                           at::kDouble);
}

/// Five prompts for three responses each, and again: neighbours are forked, later ones find pages that begin as they
/// do.
std::vector<GenerationRequest> some_requests() {
  std::vector<GenerationRequest> requests;
  for (uint64_t i = 0; i < 30; ++i) {
    const auto group = static_cast<int64_t>(i / 3 % 5);
    std::vector<int64_t> prompt;
    for (int64_t t = 0; t < 2 + 8 * group; ++t) prompt.push_back((group / 3 * 31 + t * 17 + 1) % 61);
    requests.push_back({prompt, i});
  }
  return requests;
}

double worst_gap(const Transformer& model, const std::vector<GenerationRequest>& requests,
                 const std::vector<Generation>& generations) {
  const at::NoGradGuard no_grad;
  double worst = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    std::vector<int64_t> ids = requests[i].prompt_ids;
    const auto first = std::ssize(ids) - 1;
    ids.insert(ids.end(), generations[i].ids.begin(), generations[i].ids.end());
    const at::Tensor trainer = token_log_probs(model, pack_tokens({ids}), 1.0, false).log_probs;
    for (size_t t = 0; t < generations[i].ids.size(); ++t)
      worst = std::max(worst, std::abs(static_cast<double>(generations[i].log_probs[t]) -
                                       trainer[first + static_cast<int64_t>(t)].item<double>()));
  }
  return worst;
}

}  // namespace

TEST_CASE("a recurrent model samples as it trains, in any batch, forked, shared and evicted", "[rollout]") {
  const Transformer model = load(GENERATE(from_range(test::kGoldenDeltaNets)));
  const auto requests = some_requests();
  SamplingParams params = test::sampling_params();
  params.shares_prefill = GENERATE(true, false);
  const auto [num_slots, pages, max_rows] =
      GENERATE(table<int64_t, int64_t, int64_t>({{1, 8, 100}, {4, 40, 5}, {18, 14, 20}, {64, 300, 512}}));
  const auto steps = make_step_model(model, {.num_slots = num_slots,
                                             .max_length = 60,
                                             .max_rows = max_rows,
                                             .page_size = 8,
                                             .kv_cache_bytes = pages * page_bytes(model, 8)});
  CHECK(steps->page_size() == 8);
  SamplerCounts counts;
  const auto generations = generate_with(*steps, requests, params, {}, {.counts = &counts});
  CHECK((counts.evictions > 0) == (pages == 14));
  CHECK((counts.shared_tokens > 0) == params.shares_prefill);
  CHECK(worst_gap(model, requests, generations) < kClose);
}

TEST_CASE("a page is as large as its states are", "[rollout]") {
  LayerCost cost{.cached = 10, .states = 4000};
  CHECK(cost.page_bytes(16, 2) == 16 * 10 * 2 + 4000 * 4);
  CHECK(cost.page_tokens(16, 2) == 800);
  cost.states = 100000;
  CHECK(cost.page_tokens(16, 2) == 1024);  // prompts share whole pages alone
  cost.states = 0;
  CHECK(cost.page_tokens(16, 2) == 16);
}

}  // namespace roll
