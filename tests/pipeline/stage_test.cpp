// Stages as threads, each of whose chunks has one number for a weight.
#include "pipeline/stage.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "dist/local_ranks.h"

namespace roll {

using test::run_local_ranks;

namespace {

/// x times this chunk's weight.
at::Tensor pass(PipelineStage& stage, const at::Tensor& weight, int64_t micro_batch) {
  const std::vector<int64_t> sizes = {3 + 5 * micro_batch, 2};  // no two micro-batches are as long
  const at::Tensor x = stage.is_begin() ? at::full(sizes, 1.0 + static_cast<double>(micro_batch), at::kDouble)
                                        : stage.receive({sizes}, at::kDouble)[0];
  const at::Tensor y = x * weight;
  if (stage.is_end()) return y.sum();
  stage.send({y});
  return {};
}

/// An update of micro-batches, of which that with the number `unused` has no loss, or a constant: what is wrong.
std::string train(Communicator& world, int64_t num_chunks, int64_t num_micro_batches, int64_t unused) {
  const int64_t stages = world.size(), parts = stages * num_chunks;
  Mesh mesh(world, {.pp = stages, .ring = num_chunks > 1});
  PipelineStage stage(StageSplit(std::vector<int64_t>(parts, 1), num_chunks), mesh);
  const auto factor = [](int64_t part) { return 2.0 + static_cast<double>(part); };
  std::vector<at::Tensor> weights;
  for (int64_t chunk = 0; chunk < num_chunks; ++chunk)
    weights.push_back(at::full({}, factor(chunk * stages + stage.index()), at::kDouble).requires_grad_());
  std::vector<at::Tensor> losses(num_micro_batches);
  for (const auto& [is_forward, k, chunk] : one_forward_one_backward(stage.index(), stage.shape(), num_micro_batches)) {
    stage.enter(chunk);
    if (is_forward)
      losses[k] = pass(stage, weights[chunk], k);
    else
      stage.backward(k != unused ? losses[k] : num_chunks > 1 ? at::ones({}) : at::Tensor());
  }
  stage.finish();
  double product = 1, inputs = 0;
  for (int64_t part = 0; part < parts; ++part) product *= factor(part);
  for (int64_t k = 0; k < num_micro_batches; ++k)
    if (k != unused) inputs += static_cast<double>((1 + k) * 2 * (3 + 5 * k));
  std::string wrong;
  for (int64_t chunk = 0; chunk < num_chunks; ++chunk) {
    const double expected = inputs * product / factor(chunk * stages + stage.index());
    const double found = weights[chunk].grad().item<double>();
    if (found != expected) wrong += fmt::format("chunk {}: {} is not {}; ", chunk, found, expected);
  }
  const at::Tensor told = stage.broadcast_result(stage.is_last() ? at::full({2, 3}, 7.0F) : at::Tensor());
  if (!told.equal(at::full({2, 3}, 7.0F))) wrong += "results are not told";
  world.barrier("rank 0 holds the store until all have met");
  return wrong;
}

}  // namespace

TEST_CASE("Activations go forward and their gradients back, of micro-batches of any length", "[pipeline]") {
  struct Case {
    int stages;
    int64_t chunks, batches;
  };
  const auto [stages, chunks, batches] = GENERATE(Case{2, 1, 2}, Case{2, 1, 5}, Case{3, 1, 4}, Case{4, 1, 2},
                                                  Case{2, 2, 4}, Case{2, 3, 3}, Case{3, 2, 2}, Case{4, 2, 5});
  for (const auto& wrong : run_local_ranks(
           stages, [&, c = chunks, n = batches](Communicator& world) { return train(world, c, n, /*unused=*/1); }))
    CHECK(wrong == "");
}

TEST_CASE("a stage is through when all that it has sent is gone, and says so if it cannot go", "[pipeline]") {
  const auto said = run_local_ranks(2, [](Communicator& world) -> std::string {
    Mesh mesh(world, {.pp = 2});
    PipelineStage stage(StageSplit({1, 1}), mesh);
    const at::NoGradGuard no_grad;
    if (!stage.is_first()) return "gone";
    stage.send({at::zeros({int64_t{1} << 24})});  // more than lies between two ranks
    stage.finish();
    return "through";
  });
  CHECK(said[1] == "gone");
  CHECK_THAT(said[0], Catch::Contains("error: "));
}

}  // namespace roll
