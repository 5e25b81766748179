#include "track/step_line.h"

#include <catch2/catch.hpp>
#include <cmath>

namespace roll {

namespace {

const Headline kHeadline{.goal = {"score", "score/mean"},
                         .others = {{"KL", "kl"}, {"value loss", "critic/loss"}, {"lr", "actor/lr"}}};

}  // namespace

TEST_CASE("a step's line says how far, how fast and how well, of the metrics that are there", "[track]") {
  MetricHistory history;
  history.add(0, {{"val_correct/all/mean", 0.1}, {"time/validate", 9}});
  CHECK(step_line(kHeadline, history, 60) == "step 0/60");
  history.add(3, {{"score/mean", 0.78}, {"time/step_total", 3}, {"kl", 1}});
  history.add(4, {{"score/mean", 0.7123456}, {"time/step_total", 4}, {"actor/lr", 1e-6}, {"kl", std::nan("")}});
  CHECK(step_line(kHeadline, history, 60) ==
        "step 4/60 | 3.5 s/step | 3 min 16 s left | score 0.7123 (best 0.78 @ 3) | lr 1e-06");
  CHECK(step_line(kHeadline, history, 4) == "step 4/4 | 3.5 s/step | score 0.7123 (best 0.78 @ 3) | lr 1e-06");
}

TEST_CASE("the best is the smallest where smaller is better", "[track]") {
  MetricHistory history;
  const Headline loss{.goal = {"loss", "sft/loss"}, .greater_is_better = false, .others = {}};
  CHECK(goal_text(loss, history).empty());
  for (const auto& [step, value] : {std::pair{1, 2.0}, {2, 1.5}, {3, 12.0}}) history.add(step, {{"sft/loss", value}});
  CHECK(goal_text(loss, history) == "loss 12 (best 1.5 @ 2)");
}

TEST_CASE("a step's seconds are those of the newest 20, with their validations and checkpoints", "[track]") {
  MetricHistory history;
  CHECK(std::isnan(seconds_per_step(history)));
  for (int64_t step = 1; step <= 40; ++step)
    history.add(step, {{"time/step_total", step <= 20 ? 100 : 2},
                       {"time/validate", step == 20 || step == 40 ? 20 : std::nan("")},
                       {"time/checkpoint", step == 30 ? 10 : std::nan("")}});
  CHECK(seconds_per_step(history) == Approx(2 + (20 + 10) / 20.0));
}

}  // namespace roll
