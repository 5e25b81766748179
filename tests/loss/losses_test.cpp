#include "loss/losses.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "golden_maths.h"
#include "loss/sample_weights.h"
#include "packing/alignment.h"

namespace roll {
namespace {

using testing::as_map;
using testing::floats;

LossSettings settings_from(const Json& config) {
  return loss_settings(testing::config_from<LossConfig>(config), testing::config_from<PolicyArgs>(config));
}

struct GoldenLoss {
  Json json = testing::golden_maths("loss");
  TokenAxis axis;
  ActorInputs actor;
  CriticInputs critic;
  MiniBatchCounts counts;

  GoldenLoss() {
    std::vector<int64_t> lengths = json["prompt_lengths"];
    const std::vector<int64_t> responses = json["response_lengths"];
    for (size_t b = 0; b < lengths.size(); ++b) lengths[b] += responses[b];
    axis = {cumulative(lengths), json["group_index"]};
    const Json& in = json["inputs"];
    const at::Tensor mask = floats(json["response_mask"]), final_mask = floats(json["final_response_mask"]);
    actor = {axis,
             floats(in["log_probs"]),
             floats(in["entropy"]),
             floats(in["old_log_probs"]),
             floats(in["ref_log_probs"]),
             floats(in["advantages"]),
             mask,
             final_mask};
    critic = {axis, floats(in["values"]), floats(in["old_values"]), floats(in["returns"]), mask};
    counts.set("response_mask", local_counts(mask, axis, 3));
    counts.set("final_response_mask", local_counts(final_mask, axis, 3));
    actor.scores = json["scores"].get<std::vector<double>>();
    actor.positive_response_mask = final_mask * spread(are_positive(actor.scores), axis, at::kCPU);
    counts.set("positive_response_mask", local_counts(actor.positive_response_mask, axis, 3));
  }

  /// The weights on the policy term that a golden configuration asks for.
  void add_weights(ActorInputs& in, const Json& config) const {
    if (config.contains("use_is_weights")) in.is_weights = floats(json["inputs"]["is_weights"]);
    std::vector<int64_t> valid;
    for (size_t b = 0; b + 1 < axis.cu_seqlens.size(); ++b)
      valid.push_back(
          in.final_response_mask.slice(0, axis.cu_seqlens[b], axis.cu_seqlens[b + 1]).sum().item<int64_t>());
    in.sample_weights = sample_weights(json["difficulties"], valid, settings_from(config));
  }
};

std::vector<int64_t> tokens_of(const TokenAxis& axis, const std::vector<int64_t>& sequences) {
  std::vector<int64_t> tokens;
  for (const int64_t b : sequences)
    for (int64_t t = axis.cu_seqlens[b]; t < axis.cu_seqlens[b + 1]; ++t) tokens.push_back(t);
  return tokens;
}

/// The micro-batch of these sequences, leaf tensors of its own.
ActorInputs part_of(const ActorInputs& in, const std::vector<int64_t>& sequences) {
  const at::Tensor tokens = at::tensor(tokens_of(in.axis, sequences), at::kLong);
  ActorInputs part;
  part.axis.cu_seqlens = {0};
  for (const int64_t b : sequences) {
    part.axis.cu_seqlens.push_back(part.axis.cu_seqlens.back() + in.axis.cu_seqlens[b + 1] - in.axis.cu_seqlens[b]);
    part.axis.group_index.push_back(in.axis.group_index[b]);
  }
  for (const int64_t b : sequences) {
    part.scores.push_back(in.scores[b]);
    if (!in.sample_weights.empty()) part.sample_weights.push_back(in.sample_weights[b]);
  }
  if (in.is_weights.defined()) part.is_weights = in.is_weights.index_select(0, tokens);
  for (const auto member : {&ActorInputs::log_probs, &ActorInputs::entropy, &ActorInputs::old_log_probs,
                            &ActorInputs::ref_log_probs, &ActorInputs::advantages, &ActorInputs::response_mask,
                            &ActorInputs::final_response_mask, &ActorInputs::positive_response_mask})
    part.*member = (in.*member).index_select(0, tokens);
  return part;
}

at::Tensor gradient_of(const at::Tensor& leaf) {
  return leaf.grad().defined() ? leaf.grad() : at::zeros_like(leaf);
}

}  // namespace

TEST_CASE("the actor loss, its metrics and its gradient are those of PyTorch in float64", "[loss]") {
  GoldenLoss golden;
  for (const Json& expected : golden.json["actor"]) {
    INFO(expected["config"].dump());
    ActorInputs in = golden.actor;
    in.log_probs = in.log_probs.clone().requires_grad_();
    in.entropy = in.entropy.clone().requires_grad_();
    golden.add_weights(in, expected["config"]);
    const LossResult result = actor_loss(in, golden.counts, settings_from(expected["config"]));
    result.loss.backward();
    testing::check_metrics(expected["metrics"], as_map(all_metrics(result)), 2e-6);
    CHECK(result.loss.item<double>() == Approx(expected["metrics"]["actor/total_loss"].get<double>()).epsilon(2e-6));
    CHECK(testing::near(gradient_of(in.log_probs), floats(expected["gradient"]), 2e-7));
    if (!expected["entropy_gradient"].is_null())
      CHECK(testing::near(gradient_of(in.entropy), floats(expected["entropy_gradient"]), 2e-7));
  }
}

TEST_CASE("the reductions of other trainers are settings of ours", "[loss]") {
  GoldenLoss golden;
  golden.actor.final_response_mask = golden.actor.response_mask;  // their formulae know no row without a token
  golden.counts.set("final_response_mask", local_counts(golden.actor.response_mask, golden.axis, 3));
  for (const Json& other : golden.json["frameworks"]) {
    INFO(other["name"]);
    const LossResult result = actor_loss(golden.actor, golden.counts, settings_from(other["config"]));
    CHECK(as_map(all_metrics(result)).at("actor/pg_loss") == Approx(other["value"].get<double>()).epsilon(1e-6));
  }
}

TEST_CASE("the critic loss, its metrics and its gradient are those of PyTorch in float64", "[loss]") {
  GoldenLoss golden;
  for (const Json& expected : golden.json["critic"]) {
    INFO(expected["config"].dump());
    CriticInputs in = golden.critic;
    in.values = in.values.clone().requires_grad_();
    const LossResult result = critic_loss(in, golden.counts, settings_from(expected["config"]));
    result.loss.backward();
    testing::check_metrics(expected["metrics"], as_map(all_metrics(result)), 2e-6);
    CHECK(testing::near(gradient_of(in.values), floats(expected["gradient"]), 2e-7));
  }
}

TEST_CASE("however a mini-batch is cut and ordered, the summed loss and the gradient are the same", "[loss]") {
  GoldenLoss golden;
  for (const Json& expected : golden.json["actor"]) {
    const LossSettings settings = settings_from(expected["config"]);
    ActorInputs mini_batch = golden.actor;
    golden.add_weights(mini_batch, expected["config"]);
    for (uint64_t seed = 0; seed < 8; ++seed) {
      const std::vector<int64_t> order = random_permutation(7, {.seed = seed, .purpose = Purpose::kMiniBatchShuffle});
      const size_t size = 1 + seed % 4;
      at::Tensor gradient = at::zeros_like(golden.actor.log_probs), of_entropy = at::zeros_like(gradient);
      Metrics metrics;
      double loss = 0;
      for (size_t begin = 0; begin < order.size(); begin += size) {
        const std::vector<int64_t> sequences(
            order.begin() + static_cast<int64_t>(begin),
            order.begin() + static_cast<int64_t>(std::min(begin + size, order.size())));
        ActorInputs in = part_of(mini_batch, sequences);
        in.log_probs.requires_grad_();
        in.entropy.requires_grad_();
        const LossResult result = actor_loss(in, golden.counts, settings);
        if (result.loss.requires_grad()) result.loss.backward();
        const at::Tensor tokens = at::tensor(tokens_of(golden.axis, sequences), at::kLong);
        gradient.index_copy_(0, tokens, gradient_of(in.log_probs));
        of_entropy.index_copy_(0, tokens, gradient_of(in.entropy));
        metrics.merge(all_metrics(result));
        loss += result.loss.item<double>();
      }
      INFO(expected["config"].dump() << " seed " << seed);
      ActorInputs whole = mini_batch;
      whole.log_probs = whole.log_probs.clone().requires_grad_();
      whole.entropy = whole.entropy.clone().requires_grad_();
      const LossResult once = actor_loss(whole, golden.counts, settings);
      if (once.loss.requires_grad()) once.loss.backward();
      // A token's gradient is its weight times its term: where the ratio is per token, no cut can touch a bit of it.
      if (settings.importance_sampling == ImportanceSampling::kToken)
        CHECK(at::equal(gradient, gradient_of(whole.log_probs)));
      CHECK(testing::near(gradient, gradient_of(whole.log_probs), 1e-7));
      CHECK(at::equal(of_entropy, gradient_of(whole.entropy)));
      CHECK(loss == Approx(expected["metrics"]["actor/total_loss"].get<double>()).epsilon(1e-5));
      testing::check_metrics(expected["metrics"], as_map(metrics), 2e-6);
    }
  }
}

TEST_CASE("without old log-probs the ratio is one and the gradient is that of the advantage", "[loss]") {
  GoldenLoss golden;
  ActorInputs in = golden.actor;
  in.old_log_probs = at::Tensor();
  in.ref_log_probs = at::Tensor();
  in.entropy = at::Tensor();
  in.log_probs = in.log_probs.clone().requires_grad_();
  const LossResult result = actor_loss(in, golden.counts, {});
  result.loss.backward();
  const auto metrics = as_map(all_metrics(result));
  CHECK(metrics.at("actor/ratio_mean") == Approx(1));
  CHECK(metrics.at("actor/approxkl") == 0);
  CHECK(metrics.at("actor/clipfrac") == 0);
  CHECK_FALSE(metrics.contains("actor/kl_loss"));
  CHECK_FALSE(metrics.contains("actor/entropy"));
  const at::Tensor weights = token_weights(in.final_response_mask, in.axis, AggMode::kSeqMeanTokenMean,
                                           golden.counts.at("final_response_mask"));
  CHECK(testing::near(in.log_probs.grad(), -weights * in.advantages, 1e-7));
}

TEST_CASE("the entropy bonus asks for weights in the mode of the loss", "[loss]") {
  const auto rules = [](double coefficient) {
    std::vector<std::pair<std::string, AggMode>> all;
    for (const WeightRule& rule : actor_weight_rules(
             settings_from({{"entropy_loss_coef", coefficient}, {"loss_agg_mode", "seq-mean-token-sum"}})))
      all.emplace_back(rule.mask, rule.mode);
    return std::ranges::count(all, std::pair(std::string("response_mask"), AggMode::kSeqMeanTokenSum));
  };
  CHECK(rules(0.1) == 1);
  CHECK(rules(0) == 0);
}

TEST_CASE("what lies outside the masks reaches neither loss nor gradient, not even infinities", "[loss]") {
  GoldenLoss golden;
  const LossSettings settings{.kl_coef = 0.1, .entropy_coef = 0.1};
  const at::Tensor outside = golden.actor.response_mask.eq(0);
  const double inf = std::numeric_limits<double>::infinity();
  const double clean = actor_loss(golden.actor, golden.counts, settings).loss.item<double>();
  for (const double poison : {inf, -inf, std::nan(""), 1000.0}) {
    ActorInputs in = golden.actor;
    in.log_probs = in.log_probs.masked_fill(outside, poison == 1000.0 ? 1000.0 : 0.5).requires_grad_();
    in.entropy = in.entropy.masked_fill(outside, poison);
    in.advantages = in.advantages.masked_fill(outside, poison);
    in.old_log_probs = in.old_log_probs.masked_fill(outside, poison);
    in.ref_log_probs = in.ref_log_probs.masked_fill(outside, poison);
    const LossResult result = actor_loss(in, golden.counts, settings);
    result.loss.backward();
    CHECK(result.loss.item<double>() == clean);
    CHECK(in.log_probs.grad().masked_select(outside).abs().max().item<double>() == 0);
    CHECK(in.log_probs.grad().isfinite().all().item<bool>());
  }
}

TEST_CASE("a log-ratio that overflows gives neither NaN nor infinity, whatever the advantage", "[loss]") {
  GoldenLoss golden;
  LossSettings settings{.dual_clip_c = 1.4, .kl_coef = 0.1};
  for (const PolicyLossKind& kind : registry(static_cast<const PolicyLossKind*>(nullptr)))
    for (const ImportanceSampling sampling : {ImportanceSampling::kToken, ImportanceSampling::kSequence})
      for (const double advantage : {0., 1., -1.})
        for (const double gap : {100., -100.}) {
          INFO(kind.name << ", advantage " << advantage << ", log-ratio " << gap);
          settings.importance_sampling = sampling;
          settings.policy.pg_variant = Chosen(kind);
          ActorInputs in = golden.actor;
          in.log_probs = in.log_probs.clone().requires_grad_();
          in.old_log_probs = in.log_probs.detach() - gap;
          in.ref_log_probs = in.log_probs.detach() + gap;
          in.advantages = at::full_like(in.advantages, advantage);
          const LossResult result = actor_loss(in, golden.counts, settings);
          result.loss.backward();
          CHECK(std::isfinite(result.loss.item<double>()));
          CHECK(in.log_probs.grad().isfinite().all().item<bool>());
          for (const auto& [name, value] : as_map(all_metrics(result))) {
            INFO(name);
            CHECK(std::isfinite(value));
          }
        }
}

TEST_CASE("a reducer of the policy term gets its sample weights", "[loss]") {
  GoldenLoss golden;
  const PolicyReducer sum = [](const at::Tensor& token_loss) { return LossResult{token_loss.sum(), {}}; };
  ActorInputs in = golden.actor;
  in.log_probs = in.log_probs.clone().requires_grad_();
  in.sample_weights = {0, 1, 2, 3, 4, 5, 6};
  const LossResult plain = actor_loss(golden.actor, golden.counts, {}, sum);
  const LossResult result = actor_loss(in, golden.counts, {}, sum);
  result.loss.backward();
  const auto metrics = as_map(all_metrics(result));
  CHECK(metrics.at("actor/pg_loss") == as_map(all_metrics(plain)).at("actor/pg_loss"));
  CHECK(metrics.at("actor/weighted_pg_loss") == Approx(result.loss.item<double>()));
  ActorInputs unweighted = golden.actor;
  unweighted.log_probs = unweighted.log_probs.clone().requires_grad_();
  actor_loss(unweighted, golden.counts, {}, sum).loss.backward();
  const at::Tensor factors = spread(in.sample_weights, in.axis, at::kCPU);
  CHECK(testing::near(in.log_probs.grad(), unweighted.log_probs.grad() * factors, 1e-6));
}

TEST_CASE("every policy loss is reached by its name", "[loss]") {
  for (const PolicyLossKind& kind : registry(static_cast<const PolicyLossKind*>(nullptr))) {
    CHECK(&*Chosen<PolicyLossKind>(kind.name) == &kind);
    CHECK(kind.needs_sign == (std::string(kind.name) == "topr"));
  }
  CHECK(PolicyArgs().pg_variant->name == std::string("ppo"));
}

TEST_CASE("a mini-batch without a valid token gives loss 0 and gradient 0, never NaN", "[loss]") {
  GoldenLoss golden;
  for (const std::string& mode : Words<AggMode>::all()) {
    ActorInputs in = golden.actor;
    in.log_probs = in.log_probs.clone().requires_grad_();
    in.response_mask = in.final_response_mask = at::zeros_like(in.response_mask);
    MiniBatchCounts counts;
    for (const char* mask : {"response_mask", "final_response_mask"})
      counts.set(mask, local_counts(in.response_mask, in.axis, 3));
    LossConfig config{.loss_agg_mode = named<AggMode>(mode), .use_kl_loss = true, .kl_loss_coef = 1};
    if (has_divisor(config.loss_agg_mode)) config.loss_aggregation_divisor = 10;
    const LossResult result = actor_loss(in, counts, loss_settings(config));
    result.loss.backward();
    CHECK(result.loss.item<double>() == 0);
    CHECK(at::equal(in.log_probs.grad(), at::zeros_like(in.log_probs)));
    for (const auto& [name, value] : as_map(all_metrics(result))) CHECK(value == 0);
  }
}

TEST_CASE("a filler micro-batch without sequences adds nothing", "[loss]") {
  GoldenLoss golden;
  ActorInputs in = part_of(golden.actor, {});
  in.log_probs.requires_grad_();
  const LossResult result = actor_loss(in, golden.counts, {});
  result.loss.backward();
  CHECK(result.loss.item<double>() == 0);
  const LossSettings sequence_ratios{.importance_sampling = ImportanceSampling::kSequence};
  CHECK(actor_loss(in, golden.counts, sequence_ratios).loss.item<double>() == 0);
}

TEST_CASE("a loss whose mask was not counted is refused, not normalised locally", "[loss]") {
  GoldenLoss golden;
  MiniBatchCounts counts;
  counts.set("response_mask", golden.counts.at("response_mask"));
  CHECK_THROWS_WITH(actor_loss(golden.actor, counts, {}),
                    Catch::Contains("final_response_mask") && Catch::Contains("loss_mask_keys = [response_mask]"));
  CHECK_NOTHROW(critic_loss(golden.critic, counts, {}));
  CHECK_THROWS_AS(sft_loss({golden.axis, golden.actor.log_probs, golden.actor.response_mask}, counts, {}), UserError);
}

TEST_CASE("terms that the configuration asks for need their tensors", "[loss]") {
  GoldenLoss golden;
  ActorInputs in = golden.actor;
  in.ref_log_probs = at::Tensor();
  CHECK_THROWS_AS(actor_loss(in, golden.counts, {.kl_coef = 0.1}), Bug);
  in.entropy = at::Tensor();
  CHECK_THROWS_AS(actor_loss(in, golden.counts, {.entropy_coef = 0.1}), Bug);
  in.positive_response_mask = at::Tensor();
  CHECK_THROWS_AS(actor_loss(in, golden.counts, {.positive_coef = 0.1}), Bug);
}

TEST_CASE("sft_loss is the mean negative log-likelihood of the labels", "[loss]") {
  const TokenAxis axis{{0, 3, 5}, {0, 1}};
  const at::Tensor log_probs = at::tensor({-1., -2., 0., -8., 0.}, at::kFloat).requires_grad_();
  const at::Tensor mask = at::tensor({1., 1., 0., 1., 0.}, at::kFloat);
  MiniBatchCounts counts;
  counts.set("labels_mask", local_counts(mask, axis, 2));
  const LossSettings token_mean = loss_settings({.loss_agg_mode = AggMode::kTokenMean});
  CHECK(sft_loss({axis, log_probs, mask}, counts, token_mean).loss.item<double>() == Approx(11. / 3));
  const LossResult result = sft_loss({axis, log_probs, mask}, counts, {});
  CHECK(result.loss.item<double>() == Approx((1.5 + 8) / 2));
  CHECK(as_map(all_metrics(result)).at("sft/loss") == Approx(4.75));
  result.loss.backward();
  CHECK(at::equal(log_probs.grad(), at::tensor({-0.25, -0.25, 0., -0.5, 0.}, at::kFloat)));
}

}  // namespace roll
