#include "step/updates.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <sstream>

#include "base/error.h"
#include "base/log.h"
#include "dist/local_ranks.h"
#include "dist/thread_ranks.h"
#include "experience/sample.h"
#include "job/join.h"
#include "step/forward.h"

namespace roll {

namespace {

/// Five sequences of a prompt token and 1..5 response tokens.
Experience five_sequences() {
  std::vector<Sample> samples;
  for (int64_t i = 0; i < 5; ++i)
    samples.push_back({.prompt_ids = {1}, .response_ids = std::vector<int64_t>(i + 1, 2), .sequence_index = i});
  return make_experience(samples);
}

UpdateSettings settings(bool apply_loss_scale, int64_t max_nonfinite_updates) {
  return {.prefix = "test",
          .loss_mask = "response_mask",
          .counted_masks = {"response_mask"},
          .apply_loss_scale = apply_loss_scale,
          .max_nonfinite_updates = max_nonfinite_updates};
}

/// One update over all five, one sequence a micro-batch, with the loss w * tokens.
std::string update(Communicator& ranks, bool apply_loss_scale) {
  Mesh mesh(ranks, {});
  const Experience step = five_sequences();
  const NamedTensors parameters = {{"w", at::ones({1}).requires_grad_()}};
  Learner learner("test", parameters, {.schedule = {.type = LrScheduleType::kConstant, .peak_lr = 0}}, ranks);
  const UpdatePlan plan{.settings = settings(apply_loss_scale, 0),
                        .rule = {.num_sequences = 1},
                        .mini_batches = {{0, 1, 2, 3, 4}},
                        .sizes = batch_lengths(step),
                        .num_groups = 1};
  int calls = 0;
  const MicroBatchLoss loss = [&](const Experience& e, const MiniBatchCounts&) {
    ++calls;
    LossResult result{parameters[0].second.sum() * e.response_mask().sum(), {}};
    result.metrics.add("test/tokens@sum", e.response_mask().sum().item<double>());
    return result;
  };
  const Metrics metrics = run_updates(step, plan, learner, mesh, loss);
  std::string text = fmt::format("{} calls", calls);
  for (const auto& [name, value] : metrics.values())
    if (name == "test/tokens" || name == "test/grad_norm") text += fmt::format(", {} {:.3f}", name, value);
  return text;
}

/// Three updates of a sequence each, of which those in `bad` have a NaN in their loss: the metrics, or the error, and
/// what the log said.
std::string three_updates(Communicator& ranks, const std::vector<int64_t>& bad, int64_t max_nonfinite_updates) {
  Mesh mesh(ranks, {});
  std::ostringstream out, err;
  Log log(out, err, {});
  const NamedTensors parameters = {{"w", at::ones({1}).requires_grad_()}};
  Learner learner("test", parameters, {.schedule = {.type = LrScheduleType::kConstant, .peak_lr = 0}}, ranks);
  const UpdatePlan plan{.settings = settings(true, max_nonfinite_updates),
                        .rule = {.num_sequences = 1},
                        .mini_batches = {{0}, {1}, {2}},
                        .sizes = batch_lengths(five_sequences()),
                        .num_groups = 1,
                        .phase = {&log, "train"},
                        .step = 12,
                        .source = [] { return "rollouts.jsonl"; }};
  const MicroBatchLoss loss = [&](const Experience& e, const MiniBatchCounts&) {
    const bool is_bad = std::find(bad.begin(), bad.end(), e.sequence_index[0]) != bad.end();
    LossResult result{parameters[0].second.sum() * (is_bad ? std::nan("") : 1), {}};
    result.metrics.add("test/loss@sum", is_bad ? std::nan("") : 7);
    return result;
  };
  std::string text;
  try {
    for (const auto& [name, value] : run_updates(five_sequences(), plan, learner, mesh, loss).values())
      if (name == "test/loss" || name == "test/skipped_updates") text += fmt::format("{} {:g}; ", name, value);
  } catch (const SystemError& error) {
    text = error.what();
  }
  return text + err.str();
}

}  // namespace

TEST_CASE("an update whose loss is not finite is left out, counted and told; too many in a row end the run",
          "[train]") {
  const auto one = make_communicator({.kind = Transport::kSingle});
  CHECK(three_updates(*one, {}, 0) == "test/loss 7; ");
  const std::string skipped = three_updates(*one, {1}, 1);
  CHECK_THAT(skipped, Catch::StartsWith("test/loss 7; test/skipped_updates 1; "));
  CHECK_THAT(skipped,
             Catch::Contains("step 12: test: mini-batch 2 is skipped: its loss is nan, its gradient norm is nan; "
                             "its sequences are in rollouts.jsonl"));
  CHECK_THAT(three_updates(*one, {0, 2}, 1), Catch::StartsWith("test/loss 7; test/skipped_updates 2; "));
  CHECK_THAT(three_updates(*one, {0, 1}, 1), Catch::StartsWith("step 12: test: 2 updates in a row"));
  CHECK_THAT(three_updates(*one, {1}, 0), Catch::StartsWith("step 12: test: 1 updates in a row"));
}

TEST_CASE("dropout knows a token by its context, so that what contexts begin with alike has one mask", "[train]") {
  const auto one = make_communicator({.kind = Transport::kSingle});
  Mesh mesh(*one, {});
  const Experience step =
      make_experience({{.prompt_ids = {1, 2},
                        .response_ids = {3, 1, 2, 4},
                        .turns = {{.begin = 0, .end = 1}, {.begin = 3, .end = 4, .is_fresh = true}}}});
  const NamedTensors parameters = {{"w", at::ones({1}).requires_grad_()}};
  Learner learner("test", parameters, {.schedule = {.type = LrScheduleType::kConstant, .peak_lr = 0}}, *one);
  UpdatePlan plan{
      .settings = settings(true, 0), .mini_batches = {{0}}, .sizes = step_facts(step).sizes(), .num_groups = 1};
  plan.settings.dropout_seed = 5;
  at::Tensor names;
  run_updates(step, plan, learner, mesh, [&](const Experience& e, const MiniBatchCounts&) -> LossResult {
    names = e.tokens.dropout_keys;
    return {parameters[0].second.sum(), {}};
  });
  CHECK(at::equal(names.slice(0, 0, 2), names.slice(0, 3, 5)));
  CHECK_FALSE(at::equal(names[2], names[5]));
}

TEST_CASE("micro-batches say what their sequences begin with alike, in training and forward, where that is wished",
          "[train]") {
  const auto one = make_communicator({.kind = Transport::kSingle});
  Mesh mesh(*one, {});
  std::vector<Sample> samples;
  for (int64_t i = 0; i < 3; ++i)
    samples.push_back({.prompt_ids = {1, 2, 3, 4}, .response_ids = {5 + i, 9}, .sequence_index = i});
  const Experience step = make_experience(samples);
  const auto shared = [](const Batch& part) {
    int64_t sum = 0;
    for (const Branch& branch : part.tokens.tree) sum += branch.shared;
    return sum;
  };
  for (const auto& [wish, expected] : {std::pair(SharePrompts::kFalse, 0), std::pair(SharePrompts::kTrue, 6)}) {
    BatchRule rule{.num_sequences = 3};
    rule.packing.share_prompts = wish;
    int64_t trained = -1, forward = -1;
    const NamedTensors parameters = {{"w", at::ones({1}).requires_grad_()}};
    Learner learner("test", parameters, {.schedule = {.type = LrScheduleType::kConstant, .peak_lr = 0}}, *one);
    const UpdatePlan plan{.settings = settings(true, 0),
                          .rule = rule,
                          .mini_batches = {{0, 1, 2}},
                          .sizes = step_facts(step).sizes(),
                          .num_groups = 1};
    const MicroBatchLoss loss = [&](const Experience& e, const MiniBatchCounts&) -> LossResult {
      trained = shared(e);
      return {parameters[0].second.sum(), {}};
    };
    double share = 0;
    for (const auto& [name, value] : run_updates(step, plan, learner, mesh, loss).values())
      if (name == "packing/test/shared") share = value;
    CHECK(trained == expected);
    CHECK(share == static_cast<double>(expected) / 18);
    const auto compute = [&](const Batch& part) {
      forward = shared(part);
      return at::zeros({part.tokens.num_tokens()});
    };
    forward_share(step, {{0, 1, 2}}, at::kCPU, {}, compute, {}, sharing_alignment(step_facts(step).sizes(), rule));
    CHECK(forward == expected);
  }
}

TEST_CASE("an update sums over micro-batches and ranks; fillers are not computed and do not count", "[train]") {
  const auto all = [](Communicator& ranks) { return update(ranks, true); };
  const auto mean = [](Communicator& ranks) { return update(ranks, false); };
  CHECK(all(*make_communicator({.kind = Transport::kSingle})) == "5 calls, test/grad_norm 15.000, test/tokens 15.000");
  CHECK(mean(*make_communicator({.kind = Transport::kSingle})) == "5 calls, test/grad_norm 3.000, test/tokens 15.000");
  auto said = test::run_local_ranks(2, all);
  std::sort(said.begin(), said.end());
  CHECK(said[0] == "2 calls, test/grad_norm 15.000, test/tokens 15.000");
  CHECK(said[1] == "3 calls, test/grad_norm 15.000, test/tokens 15.000");
  for (const auto& text : test::run_local_ranks(2, mean)) CHECK_THAT(text, Catch::Contains("test/grad_norm 3.000"));
}

TEST_CASE("a mini-batch's counts are those of all its ranks", "[train][dist]") {
  const Experience all = five_sequences();
  const auto text_of = [](const MiniBatchCounts& counts) {
    const MaskCounts& mask = counts.at("response_mask");
    return fmt::format("{} {} [{}]", mask.batch_num_tokens, mask.global_valid_samples,
                       fmt::join(mask.prompt_tokens, " "));
  };
  CHECK(text_of(count_masks(all, {"response_mask"}, 2)) == "15 5 [15 0]");
  run_thread_ranks(3, [&](Communicator& ranks) {
    const Partition shares = {{4, 0}, {}, {1, 2, 3}};
    const Experience own = select(all, shares[static_cast<size_t>(ranks.rank())]);
    CHECK(text_of(count_masks(own, {"response_mask"}, 2, ranks)) == "15 5 [15 0]");
  });
}

}  // namespace roll
