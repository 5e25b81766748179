// Stages as threads, each with one number for a weight.
#include "pipeline/stage.h"

#include <ATen/ATen.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "dist/local_ranks.h"

namespace roll {

using test::run_local_ranks;

namespace {

/// x times this stage's weight, where a forward and its backward take so long.
at::Tensor pass(PipelineStage& stage, const at::Tensor& weight, int64_t micro_batch, useconds_t pause_us) {
  const std::vector<int64_t> sizes = {3 + 5 * micro_batch, 2};  // no two micro-batches are as long
  const at::Tensor x = stage.is_first() ? at::full(sizes, 1.0 + static_cast<double>(micro_batch), at::kDouble)
                                        : stage.receive(sizes, at::kDouble);
  at::Tensor y = x * weight;
  ::usleep(pause_us);
  if (y.requires_grad() && pause_us > 0) y.register_hook([pause_us](const at::Tensor&) { ::usleep(pause_us); });
  if (stage.is_last()) return y.sum();
  stage.send(y);
  return {};
}

struct Trained {
  std::string wrong;
  double seconds = 0, waited_s = 0;
};

/// An update of micro-batches, of which that with the number `unused` has no loss.
Trained train(Communicator& world, int64_t num_micro_batches, int64_t unused, useconds_t pause_us = 0) {
  const int64_t stages = world.size();
  Mesh mesh(world, {.pp = stages});
  PipelineStage stage(StageSplit(std::vector<int64_t>(stages, 1)), mesh);
  const at::Tensor weight = at::full({}, 2.0 + static_cast<double>(stage.index()), at::kDouble).requires_grad_();
  std::vector<at::Tensor> losses(num_micro_batches);
  world.barrier("begin");
  const Stopwatch watch;
  for (const auto& [is_forward, k] : one_forward_one_backward(stage.index(), stages, num_micro_batches)) {
    if (is_forward)
      losses[k] = pass(stage, weight, k, pause_us);
    else
      stage.backward(k == unused ? at::Tensor() : losses[k]);
  }
  stage.finish();
  Trained trained{.seconds = watch.seconds(), .waited_s = stage.take_waited_s()};
  double product = 1, inputs = 0;
  for (int64_t s = 0; s < stages; ++s) product *= 2.0 + static_cast<double>(s);
  for (int64_t k = 0; k < num_micro_batches; ++k)
    if (k != unused) inputs += static_cast<double>((1 + k) * 2 * (3 + 5 * k));
  const double expected = inputs * product / (2.0 + static_cast<double>(stage.index()));
  if (weight.grad().item<double>() != expected)
    trained.wrong = fmt::format("{} is not {}", weight.grad().item<double>(), expected);
  const at::Tensor told = stage.broadcast_result(stage.is_last() ? at::full({2, 3}, 7.0F) : at::Tensor());
  if (!told.equal(at::full({2, 3}, 7.0F))) trained.wrong += " results are not told";
  world.barrier("rank 0 holds the store until all have met");
  return trained;
}

}  // namespace

TEST_CASE("Activations go forward and their gradients back, of micro-batches of any length", "[pipeline]") {
  const auto [stages, batches] = GENERATE(std::pair{2, 2}, std::pair{2, 5}, std::pair{3, 4}, std::pair{4, 2});
  for (const auto& wrong :
       run_local_ranks(stages, [&, n = batches](Communicator& world) { return train(world, n, /*unused=*/1).wrong; }))
    CHECK(wrong == "");
}

TEST_CASE("What stages wait is the bubble of their schedule", "[.bubble]") {  // by hand: it sleeps
  constexpr int64_t kStages = 4, kBatches = 8;
  for (const auto& text : run_local_ranks(kStages, [&](Communicator& world) {
         const Trained trained = train(world, kBatches, -1, 20000);
         return fmt::format("stage {}: waited {:.3f} of {:.3f} s: {:.3f}, and the schedule says {:.3f}", world.rank(),
                            trained.waited_s, trained.seconds, trained.waited_s / trained.seconds,
                            bubble_share(kStages, kBatches));
       }))
    WARN(text);
}

}  // namespace roll
