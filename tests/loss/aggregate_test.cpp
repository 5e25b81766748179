#include "loss/aggregate.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/random.h"
#include "tensors.h"

namespace roll {

using testing::list;

namespace {

const std::vector<AggMode> kAllModes{AggMode::kTokenMean,        AggMode::kSeqMeanTokenSum,
                                     AggMode::kSeqMeanTokenMean, AggMode::kSeqMeanTokenSumNorm,
                                     AggMode::kPromptMean,       AggMode::kConstant};

double aggregated(const at::Tensor& loss, const at::Tensor& mask, const TokenAxis& axis, AggMode mode,
                  const MaskCounts& counts, double divisor = 1) {
  return weighted_sum(loss, token_weights(mask, axis, mode, counts, divisor)).item<double>();
}

}  // namespace

TEST_CASE("pieces of different length: the mini-batch's loss is not the mean of the pieces' means", "[loss]") {
  const std::vector<double> piece_means{0.05, 0.05, 0.126, 0.198};
  const std::vector<int64_t> piece_tokens{4, 3, 2, 1};
  MaskCounts counts{.batch_num_tokens = 10, .global_valid_samples = 4, .prompt_tokens = {10}};
  double mean_of_means = 0, summed = 0;
  for (size_t i = 0; i < 4; ++i) {
    const at::Tensor loss = at::full({piece_tokens[i]}, piece_means[i], at::kFloat);
    mean_of_means += loss.mean().item<double>() / 4;
    summed += aggregated(loss, at::ones_like(loss), {{0, piece_tokens[i]}, {0}}, AggMode::kTokenMean, counts);
  }
  CHECK(mean_of_means == Approx(0.106));
  CHECK(summed == Approx(0.080));
}

TEST_CASE("every mode by hand, with a fully masked sequence and prompt", "[loss]") {
  // Sequences of prompt 0: [1 2 _], [4]; prompt 1: [8 16]; prompt 2: [_]. An underscore is masked.
  const TokenAxis axis{{0, 3, 4, 6, 7}, {0, 0, 1, 2}};
  const at::Tensor loss = list({1, 2, 100, 4, 8, 16, 100});
  const at::Tensor mask = list({1, 1, 0, 1, 1, 1, 0});
  const MaskCounts counts = local_counts(mask, axis, 4);  // prompt 3 is on another rank, and empty
  CHECK(counts.batch_num_tokens == 5);
  CHECK(counts.global_valid_samples == 3);
  CHECK(counts.prompt_tokens == std::vector<int64_t>{3, 2, 0, 0});
  CHECK(counts.valid_prompts() == 2);
  CHECK(aggregated(loss, mask, axis, AggMode::kTokenMean, counts) == Approx(31. / 5));
  CHECK(aggregated(loss, mask, axis, AggMode::kSeqMeanTokenSum, counts) == Approx(31. / 3));
  CHECK(aggregated(loss, mask, axis, AggMode::kSeqMeanTokenMean, counts) == Approx((1.5 + 4 + 12) / 3));
  CHECK(aggregated(loss, mask, axis, AggMode::kPromptMean, counts) == Approx((7. / 3 + 12) / 2));
  CHECK(aggregated(loss, mask, axis, AggMode::kConstant, counts, 10) == Approx(31. / 30));
  CHECK(aggregated(loss, mask, axis, AggMode::kSeqMeanTokenSumNorm, counts, 10) == Approx(31. / 10));
}

TEST_CASE("with dyadic losses every cut of a mini-batch over ranks and micro-batches sums to the same bits", "[loss]") {
  // 8 sequences of 4 prompts with 1, 2, 4 or 8 tokens: every count that a mode divides by is a power of two.
  const std::vector<int64_t> tokens{4, 4, 8, 8, 2, 2, 2, 2};
  TokenAxis axis{{0}, {0, 0, 1, 1, 2, 2, 3, 3}};
  for (const int64_t n : tokens) axis.cu_seqlens.push_back(axis.cu_seqlens.back() + n + 1);  // one masked token each
  const int64_t T = axis.cu_seqlens.back();
  at::Tensor mask = at::ones({T}), loss = at::empty({T});
  for (int64_t t = 0; t < T; ++t)
    loss[t] =
        std::floor(random_uniform({.purpose = Purpose::kInit, .position = static_cast<uint32_t>(t)}) * 512) / 64 - 4;
  for (size_t b = 0; b < 8; ++b) mask[axis.cu_seqlens[b + 1] - 1] = 0;
  const MaskCounts counts = local_counts(mask, axis, 4);
  REQUIRE(counts.batch_num_tokens == 32);
  for (const AggMode mode : kAllModes) {
    const double whole = aggregated(loss, mask, axis, mode, counts, 4);
    CHECK(whole != 0);
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const auto order = random_permutation(8, {.seed = seed, .purpose = Purpose::kMiniBatchShuffle});
      const size_t size = 1 + seed % 8;
      float summed = 0;  // as gradients are summed, in float32
      for (size_t begin = 0; begin < 8; begin += size) {
        TokenAxis part{{0}, {}};
        std::vector<at::Tensor> part_loss, part_mask;
        for (size_t i = begin; i < std::min<size_t>(begin + size, 8); ++i) {
          const int64_t b = order[i], from = axis.cu_seqlens[b], to = axis.cu_seqlens[b + 1];
          part.cu_seqlens.push_back(part.cu_seqlens.back() + to - from);
          part.group_index.push_back(axis.group_index[b]);
          part_loss.push_back(loss.slice(0, from, to));
          part_mask.push_back(mask.slice(0, from, to));
        }
        summed += static_cast<float>(aggregated(at::cat(part_loss), at::cat(part_mask), part, mode, counts, 4));
      }
      INFO(enum_name(mode) << " seed " << seed);
      CHECK(summed == static_cast<float>(whole));
    }
  }
}

TEST_CASE("weights ask for axes and prompts that fit", "[loss]") {
  const at::Tensor mask = list({1, 1});
  const MaskCounts counts{2, 1, {2}};
  CHECK_THROWS_AS(token_weights(mask, {{0, 3}, {0}}, AggMode::kTokenMean, counts), Bug);
  CHECK_THROWS_AS(token_weights(mask, {{0, 2}, {}}, AggMode::kPromptMean, counts), Bug);
  CHECK_THROWS_AS(token_weights(mask, {{0, 2}, {1}}, AggMode::kPromptMean, counts), Bug);
  CHECK_THROWS_AS(local_counts(mask, {{0, 2}, {1}}, 1), Bug);
  CHECK_THROWS_AS(local_counts(mask, {{0, 2}, {}}, 1), Bug);
  CHECK_NOTHROW(token_weights(mask, {{0, 2}, {}}, AggMode::kTokenMean, counts));
}

TEST_CASE("both spellings of a mode mean the same", "[loss]") {
  CHECK(agg_mode("token-mean") == agg_mode("token_mean"));
  CHECK(agg_mode("seq-mean-token-mean") == agg_mode("sample_mean"));
  CHECK(agg_mode("prompt-mean") == agg_mode("prompt_mean"));
  CHECK(agg_mode("constant") == AggMode::kConstant);
  CHECK_THROWS_WITH(agg_mode("mean"), Catch::Contains("seq-mean-token-sum") && Catch::Contains("mean: unknown"));
  CHECK_THROWS_AS(agg_mode(""), UserError);
  for (const AggMode mode : kAllModes) CHECK(agg_mode(enum_name(mode)) == mode);
}

TEST_CASE("the mode reaches the terms that its spelling says", "[loss]") {
  const LossModes roll = loss_modes({.loss_agg_mode = AggMode::kSeqMeanTokenSum});
  CHECK(roll.policy == AggMode::kSeqMeanTokenSum);
  CHECK(roll.kl == AggMode::kSeqMeanTokenSum);
  CHECK(roll.value == AggMode::kSeqMeanTokenSum);
  CHECK(roll.diagnostics == AggMode::kSeqMeanTokenMean);
  const LossModes scale = loss_modes({.loss_aggregation = Aggregation::kPromptMean});
  CHECK(scale.policy == AggMode::kPromptMean);
  CHECK(scale.kl == AggMode::kSeqMeanTokenMean);
  CHECK(scale.value == AggMode::kSeqMeanTokenMean);
  CHECK(needs_whole_groups(scale));
  CHECK_FALSE(needs_whole_groups(roll));
  CHECK(loss_modes({.loss_agg_mode = AggMode::kTokenMean}).diagnostics == AggMode::kTokenMean);
  CHECK(loss_modes({.calculate_per_token_loss = true}).policy == AggMode::kTokenMean);
  CHECK(loss_modes({.loss_aggregation = Aggregation::kTokenMean, .calculate_per_token_loss = true}).kl ==
        AggMode::kTokenMean);
  CHECK(loss_modes({.loss_agg_mode = AggMode::kPromptMean, .loss_aggregation = Aggregation::kPromptMean}).policy ==
        AggMode::kPromptMean);
}

TEST_CASE("the summed gradient is whole already: only apply_loss_scale = false divides it", "[loss]") {
  CHECK(loss_scale(true, 8) == 1);
  CHECK(loss_scale(false, 8) == 0.125);
}

}  // namespace roll
