#include "step/role_losses.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "dist/thread_ranks.h"
#include "experience/sample.h"
#include "settings/training_plan.h"

namespace roll {

namespace {

/// Responses of 1, 2, 3 and 4 tokens that count.
Experience four_responses() {
  std::vector<Sample> samples;
  for (int64_t i = 0; i < 4; ++i)
    samples.push_back({.prompt_ids = {1},
                       .response_ids = std::vector<int64_t>(static_cast<size_t>(i + 2), 2),
                       .sequence_index = i,
                       .group_index = i,
                       .difficulty = i == 2 ? 1.0 : 0.0});
  Experience step = make_experience(samples);
  at::Tensor counted = step.response_mask().clone();
  for (int64_t b = 0; b < 4; ++b) response_part(step, counted, b)[0] = 0;
  step.masks["final_response_mask"] = counted;
  return step;
}

/// The weights that each rank's parts of these mini-batches get.
std::string weights_of(const LossSettings& loss, const std::vector<int64_t>& share, const Partition& own_parts,
                       const Partition& mini_batches, Communicator& ranks) {
  const Experience step = four_responses();
  const StepFacts facts = step_facts(step);
  const Prepare prepare = weigh_samples(facts, select(step, share), loss, ranks);
  std::string text;
  for (size_t i = 0; i < mini_batches.size(); ++i) {
    Experience part = select(step, own_parts[i]);
    prepare(part, mini_batches[i]);
    text += fmt::format("[{:.4f}]", fmt::join(part.sample_weights, " "));
  }
  return text;
}

}  // namespace

TEST_CASE("weights of samples are made of their whole mini-batch, whoever has it", "[train][dist]") {
  const Partition mini_batches = {{2, 0}, {3, 1}};
  LossSettings loss;
  loss.length_weights = true;
  loss.difficulty_weights = DifficultyRange{};
  // Of lengths 3 and 1 with difficulties 1 and 0: 0.5 x 2 and 1.5 x 0.5, which become 1 on the mean; of 4 and 2: 0.5
  // and 1.5 times the same.
  run_thread_ranks(1, [&](Communicator& one) {
    CHECK(weights_of(loss, {0, 1, 2, 3}, {{0, 2}, {1, 3}}, mini_batches, one) == "[0.8571 1.1429][1.5000 0.5000]");
  });
  run_thread_ranks(2, [&](Communicator& ranks) {
    if (ranks.is_first()) CHECK(weights_of(loss, {1, 2}, {{2}, {1}}, mini_batches, ranks) == "[1.1429][1.5000]");
    if (!ranks.is_first()) CHECK(weights_of(loss, {3, 0}, {{0}, {3}}, mini_batches, ranks) == "[0.8571][0.5000]");
  });
}

TEST_CASE("where nothing weighs samples nothing is prepared", "[train]") {
  run_thread_ranks(1, [&](Communicator& one) {
    const Experience step = four_responses();
    CHECK_FALSE(weigh_samples(step_facts(step), step, {}, one));
  });
}

TEST_CASE("the loss of a trajectory is that of its contexts, with its score and its weight on each", "[train]") {
  const auto sample = [](std::vector<int64_t> prompt, std::vector<int64_t> response, double score, Turns turns) {
    return Sample{.prompt_ids = std::move(prompt),
                  .response_ids = std::move(response),
                  .score = score,
                  .turns = std::move(turns)};
  };
  const Turns turns = {{.begin = 0, .end = 2}, {.begin = 3, .end = 4, .is_fresh = true}};
  const auto loss_of = [](Experience e, std::vector<float> weights) {
    const at::Tensor ramp = at::linspace(-1, 1, e.tokens.num_tokens()) * e.response_mask();
    e.masks["final_response_mask"] = e.masks["positive_response_mask"] = e.response_mask();
    e.advantages = ramp + 0.1;
    e.old_log_probs = -ramp.abs();
    e.sample_weights = std::move(weights);
    LossSettings settings;
    settings.policy.pg_variant = "topr";
    settings.modes.policy = AggMode::kSeqMeanTokenMean;
    settings.importance_sampling = ImportanceSampling::kSequence;
    const ActorLoss loss(RoleLossSettings{settings});
    MiniBatchCounts counts;
    for (const char* mask : {"response_mask", "final_response_mask", "positive_response_mask"})
      counts.set(mask, local_counts(e.mask(mask), e.axis(), 1));
    return loss(e, {e.old_log_probs + 0.3 * ramp, at::zeros_like(ramp)}, counts).loss.item<double>();
  };
  const double together =
      loss_of(make_experience({sample({1}, {2, 3, 4, 5}, 0, turns), sample({6}, {7, 8, 9, 10}, 1, turns)}), {0.5, 3});
  const double apart = loss_of(make_experience({sample({1}, {2, 3}, 0, {}), sample({4}, {5}, 0, {}),
                                                sample({6}, {7, 8}, 1, {}), sample({9}, {10}, 1, {})}),
                               {0.5, 0.5, 3, 3});
  CHECK(together == apart);
  CHECK(together != 0);
}

TEST_CASE("each role that a run can train has a loss", "[train]") {
  for (const TrainableRole& row : trainable_roles()) {
    CHECK(make_configured_loss(row.role, {}));
    CHECK_FALSE(role_weight_rules(row.role, {}).empty());
  }
  CHECK_THROWS_AS(make_configured_loss(kReferenceRole, {}), Bug);
}

}  // namespace roll
