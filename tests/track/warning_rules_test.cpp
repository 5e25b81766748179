#include "track/warning_rules.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

namespace roll {

namespace {

using Series = std::map<std::string, std::function<double(int64_t step)>>;

std::function<double(int64_t)> always(double value) {
  return [value](int64_t) { return value; };
}

/// Before that step one value, from it on another.
std::function<double(int64_t)> changing(int64_t at, double before, double after) {
  return [=](int64_t step) { return step < at ? before : after; };
}

/// A run without a critic that goes well.
Series healthy() {
  return {{"score/mean", [](int64_t step) { return 0.2 + 0.005 * static_cast<double>(step); }},
          {"score/max", always(1)},
          {"score/min", always(0)},
          {"group/mixed_ratio", always(0.6)},
          {"system/samples", always(64)},
          {"rollout/groups_sampled", always(8)},
          {"rollout/groups_dropped", always(0)},
          {"rollout/groups_aborted", always(0)},
          {"actor/entropy", [](int64_t step) { return 0.5 - 0.002 * static_cast<double>(step); }},
          {"token/response_length/mean", [](int64_t step) { return 200.0 + static_cast<double>(step); }},
          {"rollout/truncated_ratio", always(0.02)},
          {"kl", always(0.05)},
          {"actor/sampler_log_prob_gap/mean", always(0.01)},
          {"actor/grad_norm", [](int64_t step) { return step % 2 == 0 ? 0.5 : 0.7; }},
          {"actor/grad_clip_coef", always(1)}};
}

Series with(Series series, const Series& changes) {
  for (const auto& [name, value] : changes) series[name] = value;
  return series;
}

/// What is said of a run of 100 steps: "rule @ step" of each.
std::vector<std::string> said_of(const Series& series, int64_t steps = 100) {
  MetricHistory history;
  WarningWatch watch;
  for (int64_t step = 1; step <= steps; ++step) {
    MetricValues values;
    for (const auto& [name, value] : series) values.emplace_back(name, value(step));
    history.add(step, values);
    watch.observe(history);
  }
  std::vector<std::string> said;
  for (const Warning& warning : watch.raised()) said.push_back(fmt::format("{} @ {}", warning.rule, warning.step));
  return said;
}

std::vector<std::string> said_with(const Series& changes) {
  return said_of(with(healthy(), changes));
}

using Said = std::vector<std::string>;

}  // namespace

TEST_CASE("nothing is said of a run that goes well, nor of one without metrics", "[track]") {
  CHECK(said_of(healthy()) == Said{});
  CHECK(said_of({}) == Said{});
}

TEST_CASE("five steps in which all responses score alike are said", "[track]") {
  CHECK(said_with({{"score/max", changing(20, 1, 0)}, {"score/mean", changing(20, 0.2, 0)}}) ==
        Said{"same_scores @ 24"});
  CHECK(said_with({{"score/max", [](int64_t step) { return step % 5 == 0 ? 1 : 0; }}}) == Said{});
}

TEST_CASE("a score that has not moved over 90 steps is said, unless it is almost perfect", "[track]") {
  const auto noisy = [](double level) {
    return [level](int64_t step) { return level + (step % 2 == 0 ? 0.01 : -0.01); };
  };
  CHECK(said_with({{"score/mean", noisy(0.4)}}) == Said{"flat_score @ 90"});
  CHECK(said_with({{"score/mean", noisy(0.95)}}) == Said{});
  CHECK(said_with({{"score/mean",
                    [&](int64_t step) { return noisy(0.4 + 0.0005 * static_cast<double>(step))(step); }}}) == Said{});
  // On a scale from -10 to -1, too.
  const Series below_zero = {{"score/min", always(-10)}, {"score/max", always(-1)}};
  CHECK(said_with(with(below_zero, {{"score/mean", noisy(-1.2)}})) == Said{});
  CHECK(said_with(with(below_zero, {{"score/mean", noisy(-4)}})) == Said{"flat_score @ 90"});
}

TEST_CASE("groups whose rewards agree are said where advantages come from groups", "[track]") {
  CHECK(said_with({{"group/mixed_ratio", always(0.09)}}) == Said{"equal_groups @ 10"});
  CHECK(said_with({{"group/mixed_ratio", always(0.11)}}) == Said{});
  CHECK(said_with({{"group/mixed_ratio", always(0)}, {"critic/loss", always(1)}}) == Said{});
  CHECK(said_with({{"group/mixed_ratio", always(0)}, {"system/samples", always(8)}}) == Said{});
  CHECK(said_with(
            {{"group/mixed_ratio", always(0)}, {"system/samples", always(8)}, {"rollout/groups_dropped", always(4)}}) ==
        Said{"equal_groups @ 10"});
}

TEST_CASE("entropy below a tenth of the beginning's is said, unless the score is almost perfect", "[track]") {
  CHECK(said_with({{"actor/entropy", changing(50, 0.5, 0.04)}}) == Said{"entropy_collapse @ 54"});
  CHECK(said_with({{"actor/entropy", changing(50, 0.5, 0.06)}}) == Said{});
  CHECK(said_with({{"actor/entropy", changing(50, 0.5, 0.04)}, {"score/mean", changing(40, 0.2, 0.95)}}) == Said{});
}

TEST_CASE("responses that double in 20 steps are said where the score does not rise", "[track]") {
  const auto longer = changing(50, 200, 500);
  CHECK(said_with({{"token/response_length/mean", longer}, {"score/mean", [](int64_t step) {
                                                              return 0.3 + 0.0005 * static_cast<double>(step);
                                                            }}}) == Said{"length_shift @ 51", "length_explosion @ 53"});
  CHECK(said_with({{"token/response_length/mean", longer}}) == Said{"length_shift @ 51"});
  CHECK(said_with({{"token/response_length/mean", changing(50, 200, 390)},
                   {"score/mean", [](int64_t step) { return 0.3 + 0.0005 * static_cast<double>(step); }}}) ==
        Said{"length_shift @ 52"});
}

TEST_CASE("more than a quarter of responses cut off is said", "[track]") {
  CHECK(said_with({{"rollout/truncated_ratio", always(0.26)}}) == Said{"truncation @ 5"});
  CHECK(said_with({{"rollout/truncated_ratio", always(0.25)}}) == Said{});
}

TEST_CASE("a KL above half a nat a token is said", "[track]") {
  CHECK(said_with({{"kl", changing(30, 0.05, 0.51)}}) == Said{"kl_growth @ 34"});
  CHECK(said_with({{"kl", always(0.49)}}) == Said{});
  CHECK(said_with({{"actor/kl_loss", always(0.51)}}) == Said{"kl_growth @ 5"});
}

TEST_CASE("a sampler that disagrees with the trainer is said, by its cause", "[track]") {
  const auto grows = changing(30, 0.01, 0.11), corrected = always(1), stale = always(0.4);
  CHECK(said_with({{"actor/sampler_log_prob_gap/mean", grows}}) == Said{"sampler_gap @ 32"});
  CHECK(said_with({{"actor/sampler_log_prob_gap/mean", always(0.09)}}) == Said{});
  const auto gap_with = [&](Series more) {
    more["actor/sampler_log_prob_gap/mean"] = grows;
    return said_with(more);
  };
  CHECK(gap_with({{"actor/train_infer_kept_ratio", corrected}}) == Said{"corrected_gap @ 32"});
  CHECK(gap_with({{"rollout/stale_tokens", stale}}) == Said{"stale_gap @ 32"});
  CHECK(gap_with({{"rollout/stale_tokens", always(0)}}) == Said{"sampler_gap @ 32"});
  CHECK(gap_with({{"rollout/stale_tokens", stale}, {"actor/train_infer_kept_ratio", corrected}}) == Said{});
}

TEST_CASE("a gradient ten times the recent median is said, of any role", "[track]") {
  const auto spike = [](int64_t step) { return step == 40 ? 7.5 : step % 2 == 0 ? 0.5 : 0.7; };
  for (const char* name : {"actor/grad_norm", "critic/grad_norm", "sft/grad_norm"})
    CHECK(said_with({{name, spike}}) == Said{"gradient_spike @ 40"});
  CHECK(said_with({{"actor/grad_norm", [](int64_t step) { return step == 40 ? 4.5 : 0.5; }}}) == Said{});
  CHECK(said_with({{"actor/grad_norm", [](int64_t step) { return step == 5 ? 50 : 0.5; }}}) == Said{});
}

TEST_CASE("gradients that are all clipped to less than a tenth are said", "[track]") {
  CHECK(said_with({{"actor/grad_clip_coef", changing(30, 1, 0.09)}}) == Said{"clipped_for_ever @ 49"});
  CHECK(said_with({{"actor/grad_clip_coef", [](int64_t step) { return step % 20 == 0 ? 0.5 : 0.09; }}}) == Said{});
}

TEST_CASE("a critic that predicts worse than a constant is said, once it had time to learn", "[track]") {
  CHECK(said_with({{"critic/explained_variance", always(-0.06)}}) == Said{"useless_values @ 20"});
  CHECK(said_with({{"critic/explained_variance", always(-0.04)}}) == Said{});
  CHECK(said_with({{"critic/explained_variance", changing(10, -1, 0.3)}}) == Said{});
}

TEST_CASE("a warning is said once while it holds, and again after it had gone away", "[track]") {
  const auto cut_off = [](std::vector<std::pair<int64_t, int64_t>> spans) {
    return [spans = std::move(spans)](int64_t step) {
      for (const auto& [first, last] : spans)
        if (first <= step && step <= last) return 1.0;
      return 0.0;
    };
  };
  CHECK(said_with({{"rollout/truncated_ratio", cut_off({{10, 80}})}}) == Said{"truncation @ 11"});
  CHECK(said_with({{"rollout/truncated_ratio", cut_off({{10, 20}, {28, 40}})}}) == Said{"truncation @ 11"});
  CHECK(said_with({{"rollout/truncated_ratio", cut_off({{10, 20}, {60, 70}})}}) ==
        Said{"truncation @ 11", "truncation @ 61"});
}

TEST_CASE("a warning holds until it has been away for ten steps, and names its key", "[track]") {
  MetricHistory history;
  WarningWatch watch;
  for (int64_t step = 1; step <= 30; ++step) {
    history.add(step, {{"kl", step <= 10 ? 2.0 : 0.0}});
    watch.observe(history);
    if (step == 20) CHECK(watch.is_active(watch.raised().at(0)));
  }
  CHECK_FALSE(watch.is_active(watch.raised().at(0)));
  CHECK(watch.raised().at(0).text ==
        "the policy drifts far from the reference: KL 2 nats a token over the last 5 steps; raise init_kl_coef or "
        "kl_loss_coef, or lower learning_rate");
}

TEST_CASE("responses that change their length by half are said while the score rises", "[track]") {
  const auto lengths = [](double after) { return Series{{"token/response_length/mean", changing(20, 35, after)}}; };
  CHECK(said_with(lengths(12)) == Said{"length_shift @ 23"});  // as soon as the mean of five is half
  CHECK(said_with(lengths(20)) == Said{});
  CHECK(said_with(lengths(55)) == Said{"length_shift @ 24"});
  CHECK(said_of(with(with(healthy(), lengths(12)), {{"score/mean", always(0.3)}}), 60) == Said{});
}

TEST_CASE("text that begins to repeat itself is said", "[track]") {
  CHECK(said_with({{"rollout/repeated_text", changing(20, 0.1, 0.4)}}) == Said{"repeated_text @ 23"});
  CHECK(said_with({{"rollout/repeated_text", changing(20, 0.1, 0.29)}}) == Said{});
  CHECK(said_with({{"rollout/repeated_text", always(0.5)}}) == Said{});  // the task itself repeats
}

TEST_CASE("kinds of rows that stay all wrong or all right are named", "[track]") {
  MetricHistory history;
  WarningWatch watch;
  for (int64_t step = 0; step < 3; ++step) {
    history.add(step, {{"val_correct/all/mean", 0.5},
                       {"val_correct/title/mean", 0},
                       {"val_correct/lower/mean", 1},
                       {"val_correct/comma/mean", 0.1 * static_cast<double>(step)}});
    CHECK(watch.observe(history).empty() == (step < 2));
  }
  CHECK(watch.raised().front().text.starts_with(
      "of 3 kinds of rows, some do not change in any validation: all wrong: title; all right: lower; "));
}

}  // namespace roll
