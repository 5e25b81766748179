// Trajectories whose turns have contexts of their own: one sequence each wherever sequences are counted, moved or
// scored; to losses and corrections each context is one.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "experience/correction.h"
#include "experience/experience.h"
#include "loss/aggregate.h"
#include "sample.h"

namespace roll {
namespace {

std::vector<double> listed(const at::Tensor& tensor) {
  const at::Tensor values = tensor.to(at::kDouble).contiguous();
  return {values.const_data_ptr<double>(), values.const_data_ptr<double>() + values.numel()};
}

using Ids = std::vector<int64_t>;

/// Prompt 1 2, turn 3 4 | prompt 5, turn 6, environment 7, turn 8 | prompt 9 10 11, turn 12; and a plain response.
Experience two_trajectories() {
  return make_experience({{.prompt_ids = {1, 2},
                           .response_ids = {3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
                           .sequence_index = 0,
                           .score = 1,
                           .turns = {{.begin = 0, .end = 2},
                                     {.begin = 3, .end = 4, .is_fresh = true},
                                     {.begin = 5, .end = 6},
                                     {.begin = 9, .end = 10, .is_fresh = true}}},
                          {.prompt_ids = {20}, .response_ids = {21, 22}, .sequence_index = 1, .group_index = 1}});
}

}  // namespace

TEST_CASE("positions restart with a context, and its prompt carries no loss", "[experience]") {
  const Experience e = two_trajectories();
  CHECK(e.tokens.cu_seqlens == Ids{0, 12, 15});
  CHECK(e.tokens.cu_contexts == Ids{0, 4, 8, 12, 15});
  CHECK(listed(e.tokens.positions) == std::vector<double>{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2});
  CHECK(listed(e.response_mask()) == std::vector<double>{0, 1, 1, 0, 1, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0});
  const auto contexts = context_spans(e, 0);
  REQUIRE(contexts.size() == 3);
  CHECK(contexts[1].size() == 2);
  CHECK(context_spans(e, 1).size() == 1);
}

TEST_CASE("selected sequences take their contexts along", "[experience]") {
  const Experience part = select(two_trajectories(), {1, 0, 1});
  CHECK(part.tokens.cu_seqlens == Ids{0, 3, 15, 18});
  CHECK(part.tokens.cu_contexts == Ids{0, 3, 7, 11, 15, 18});
  CHECK(select(part, {1}).tokens.cu_contexts == Ids{0, 4, 8, 12});
  CHECK(make_experience({{{1}, {2}, 0, 0, 0, false}}).tokens.cu_contexts.empty());
}

TEST_CASE("plans know what contexts take, padded one by one", "[experience]") {
  const SequenceSizes sizes = step_facts(two_trajectories()).sizes();
  CHECK(sizes.contexts == std::vector<Ids>{{4, 4, 4}, {3}});
  CHECK(sizes.aligned(0, 8) == 24);
  CHECK(sizes.work(0, {.linear = 1, .attention = 1}) == 12 + 3 * 16);
  CHECK(total_load(sizes, {0, 1}, 8, {}, false).aligned_tokens == 32);
  CHECK(plan_items(sizes.select({1, 0}), {.budget = 24, .alignment = 8}).tokens == Ids{8, 24});
  CHECK_THROWS_WITH(plan_items(sizes, {.budget = 16, .alignment = 8}),
                    Catch::Contains("12 tokens (24 after alignment to 8)"));
}

TEST_CASE("to a loss each context is a sequence", "[experience]") {
  const Experience e = two_trajectories();
  const TokenAxis axis = e.axis();
  CHECK(axis.cu_seqlens == Ids{0, 4, 8, 12, 15});
  CHECK(axis.group_index == Ids{0, 0, 0, 1});
  CHECK(e.scores_on_contexts() == std::vector<double>{1, 1, 1, 0});
  const MaskCounts counts = local_counts(e.response_mask(), axis, 2);
  CHECK(counts.global_valid_samples == 4);
  CHECK(counts.prompt_tokens == Ids{5, 2});
  const at::Tensor weights = token_weights(e.response_mask(), axis, AggMode::kSeqMeanTokenMean, counts);
  CHECK(listed(weights) == std::vector<double>{0, .125, .125, 0, .125, 0, .125, 0, 0, 0, .25, 0, .125, .125, 0});
}

TEST_CASE("a correction of sequences is one of contexts, whose turns are together", "[experience]") {
  Experience e = two_trajectories();
  e.masks["final_response_mask"] = e.response_mask();
  e.old_log_probs = e.response_mask() * at::arange(15).to(at::kFloat) * -0.01;
  e.sampler_log_probs = at::zeros_like(e.old_log_probs);
  TrainInferCorrection config;
  config.is_weight = {.enabled = true, .weight_type = CorrectionLevel::kSequence};
  correct_for_sampler(e, config);
  const at::Tensor found = e.is_weights.log().masked_fill(e.response_mask().eq(0), 0);
  const std::vector<double> wanted = {0, -.03, -.03, 0, -.1, 0, -.1, 0, 0, 0, -.1, 0, -.25, -.25, 0};
  for (size_t t = 0; t < wanted.size(); ++t) CHECK(listed(found)[t] == Approx(wanted[t]).margin(1e-6));
}

}  // namespace roll
