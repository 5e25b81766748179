// A real model, its learner and a mesh together: the gradient of an update of several micro-batches.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "checkpoint/temporary_folder.h"
#include "dist/local_ranks.h"
#include "job/join.h"
#include "model/init_spec.h"
#include "model/log_probs.h"
#include "optim/learner.h"
#include "step/roles.h"

namespace roll {

namespace {

void save_tiny(const std::filesystem::path& folder) {
  InitSizes sizes;
  sizes.arch = "qwen2";
  sizes.tie = true;
  sizes.vocab = 71;
  sizes.hidden = 32;
  sizes.layers = 2;
  sizes.kv_heads = 2;
  sizes.intermediate = 46;
  Transformer model = Transformer::init(make_spec(sizes, {}), 1);
  const at::NoGradGuard no_grad;
  for (auto& [name, tensor] : model.parameters())
    if (tensor.dim() == 2) tensor.mul_(8);
  model.save(folder);
}

/// Micro-batch k: two sequences of other lengths and tokens each time.
PackedTokens micro_batch(int64_t k) {
  std::vector<std::vector<int64_t>> sequences(2);
  for (int64_t i = 0; i < 9 + 4 * k; ++i) sequences[0].push_back((31 * k + 7 * i * i + i) % 71);
  for (int64_t i = 0; i < 14 - 3 * k; ++i) sequences[1].push_back((17 * k + 5 * i * i + 3 * i) % 71);
  return pack_tokens(sequences);
}

/// The kept gradient of one update over micro-batches [first, first + count).
NamedTensors gradient_of(Mesh& mesh, const std::filesystem::path& folder, const Recomputation& recompute, int64_t first,
                         int64_t count) {
  const Transformer model = Transformer::load(folder, at::kCPU, at::kFloat, model_parallel(mesh));
  Learner learner("test", model.parameters(), {.schedule = {.type = LrScheduleType::kConstant, .peak_lr = 1e-3}},
                  {mesh, model.parts()});
  learner.keep_gradients(true);
  learner.update(count, [&](int64_t k) {
    const TokenLogProbs y = token_log_probs(model, micro_batch(first + k), 1.0, true, recompute);
    return (y.log_probs + 0.1 * y.entropy).sum();
  });
  return learner.kept_gradient();
}

}  // namespace

TEST_CASE("an update's gradient does not depend on how ranks share micro-batches, sequences and weights", "[train]") {
  const Recomputation recompute = GENERATE(Recomputation{}, kEveryLayer);
  const MeshShape shape = GENERATE(MeshShape{}, MeshShape{.tp = 2}, MeshShape{.cp = 2}, MeshShape{.cp = 2, .tp = 2});
  const test::TemporaryFolder folder;
  save_tiny(folder / "m");
  const auto alone = make_communicator({.kind = Transport::kSingle});
  Mesh one(*alone, {});
  const NamedTensors expected = gradient_of(one, folder / "m", {}, 0, 4);
  INFO("cp " << shape.cp << " tp " << shape.tp << " recomputed " << recompute.layers);
  for (const auto& wrong : test::run_local_ranks(2 * static_cast<int>(shape.model_ranks()), [&](Communicator& world) {
         Mesh mesh(world, shape);
         // The first data rank has three micro-batches, the second one.
         const bool is_first = mesh.place().dp == 0;
         const auto found = gradient_of(mesh, folder / "m", recompute, is_first ? 0 : 3, is_first ? 3 : 1);
         std::string differ;
         for (size_t i = 0; i < found.size(); ++i) {
           const double scale = expected[i].second.abs().max().item<double>();
           if (!at::allclose(found[i].second, expected[i].second, 0, 1e-5 * scale)) differ += found[i].first + " ";
         }
         world.barrier("all are done");
         return differ;
       }))
    CHECK(wrong == "");
}

}  // namespace roll
