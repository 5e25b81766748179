#include "loss/dpo.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "base/error.h"

namespace roll {

namespace {

/// Three pairs of sequences of these lengths, whose first token is the prompt's.
struct Pairs {
  std::vector<int64_t> lengths{3, 5, 2, 2, 4, 6};
  at::Tensor log_probs, ref_log_probs, mask;

  Pairs() {
    at::Tensor of_tokens = at::arange(22, at::kFloat);
    log_probs = of_tokens.mul(0.37f).sin().sub(1.5f);
    ref_log_probs = of_tokens.mul(0.61f).cos().sub(1.5f);
    mask = at::ones({22}, at::kFloat);
    int64_t end = 0;
    for (const int64_t length : lengths) mask[(end += length) - 1] = 0;
  }

  /// Of these pairs, which are all of the mini-batch or a part.
  LossResult loss(const std::vector<int64_t>& pairs, const DpoSettings& settings,
                  at::Tensor* gradient = nullptr) const {
    DpoInputs in;
    in.axis.cu_seqlens = {0};
    std::vector<at::Tensor> places;
    for (const int64_t pair : pairs)
      for (const int64_t b : {2 * pair, 2 * pair + 1}) {
        int64_t begin = 0;
        for (int64_t i = 0; i < b; ++i) begin += lengths[i];
        places.push_back(at::arange(begin, begin + lengths[b], at::kLong));
        in.axis.cu_seqlens.push_back(in.axis.cu_seqlens.back() + lengths[b]);
        in.axis.group_index.push_back(pair);
      }
    const at::Tensor tokens = at::cat(places);
    at::Tensor leaf = log_probs.clone().requires_grad_();
    in.log_probs = leaf.index_select(0, tokens);
    in.ref_log_probs = ref_log_probs.index_select(0, tokens);
    in.response_mask = mask.index_select(0, tokens);
    MiniBatchCounts counts;
    counts.set("response_mask", {.batch_num_tokens = 16, .global_valid_samples = 6, .prompt_tokens = {6, 2, 8}});
    LossResult result = dpo_loss(in, counts, settings);
    if (gradient) {
      result.loss.backward();
      *gradient = leaf.grad();
    }
    return result;
  }
};

}  // namespace

TEST_CASE("the loss of a mini-batch of pairs is the sum over any cut of it", "[loss]") {
  const DpoSettings settings =
      GENERATE(DpoSettings{}, DpoSettings{.beta = 0.5, .label_smoothing = 0.2}, DpoSettings{.beta = 0.1, .ipo = true});
  const Pairs pairs;
  at::Tensor whole, first, second;
  const double loss = pairs.loss({0, 1, 2}, settings, &whole).loss.item<double>();
  const double parts =
      pairs.loss({2}, settings, &first).loss.item<double>() + pairs.loss({0, 1}, settings, &second).loss.item<double>();
  CHECK(parts == Approx(loss).epsilon(1e-6));
  CHECK(at::allclose(first + second, whole, 1e-6, 1e-8));
  CHECK(whole.masked_select(pairs.mask.eq(0)).abs().max().item<double>() == 0);
}

TEST_CASE("tokens outside of responses are no matter, whatever stands there", "[loss]") {
  Pairs pairs;
  const double loss = pairs.loss({0, 1, 2}, {}).loss.item<double>();
  pairs.log_probs.masked_fill_(pairs.mask.eq(0), -1e30);
  at::Tensor gradient;
  CHECK(pairs.loss({0, 1, 2}, {}, &gradient).loss.item<double>() == loss);
  CHECK(gradient.isfinite().all().item<bool>());
}

TEST_CASE("a micro-batch that cuts a pair is a bug", "[loss]") {
  DpoInputs in;
  in.axis = {{0, 2, 4}, {0, 1}};
  in.log_probs = in.ref_log_probs = in.response_mask = at::ones({4});
  CHECK_THROWS_AS(dpo_loss(in, {}, {}), Bug);
  in.axis = {{0, 4}, {0}};
  CHECK_THROWS_AS(dpo_loss(in, {}, {}), Bug);
}

}  // namespace roll
