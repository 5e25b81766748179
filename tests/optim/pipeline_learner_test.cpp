// A model whose layers lie on the stages of a pipeline against the whole one, over two updates of micro-batches of
// unequal length, of which one has no token to learn from.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <numeric>

#include "checkpoint/temporary_folder.h"
#include "dist/local_ranks.h"
#include "dist/single.h"
#include "model/parallel_outcome.h"
#include "model/telling_model.h"
#include "optim/learner.h"
#include "pipeline/stage.h"

namespace roll {

using test::run_local_ranks;
using test::some_ids;
using test::TemporaryFolder;

namespace {

struct Layout {
  MeshShape shape;
  std::vector<int64_t> sizes;  // of the stages, or of interleaved ones' chunks
  bool tie = true, shares = true, recomputes = false;
  std::vector<std::string> frozen = {};
  std::string arch = "qwen2";
  int64_t layer_input = 0, keyless_layers = 0;
  int64_t num_layers() const { return std::reduce(sizes.begin(), sizes.end()); }
  int64_t num_chunks() const { return std::ssize(sizes) / shape.pp; }
};

LearnerOptions options_of(const Layout& layout) {
  return {.adamw = {.epsilon = 1e-4, .weight_decay = 0.1},
          .schedule = {.type = LrScheduleType::kConstant, .peak_lr = 1e-2},
          .max_grad_norm = 0.5,
          .frozen_prefixes = layout.frozen,
          .shares_optimizer = layout.shares};
}

template <class Model>
at::Tensor loss_of(const Model& model, int64_t k, bool recomputes) {
  const PackedTokens tokens = pack_tokens({some_ids(5 + 3 * k, k), some_ids(2 + k * k, k + 7)});
  const Recomputation recompute = recomputes ? kEveryLayer : Recomputation();
  std::vector<at::Tensor> outputs;
  if constexpr (std::is_same_v<Model, Transformer>) {
    const at::Tensor wanted = k == 1 ? at::zeros({tokens.num_tokens()}, at::kLong) : at::Tensor();
    const TokenLogProbs found = token_log_probs(model, tokens, 0.9, true, recompute, wanted);
    if (found.log_probs.defined()) outputs = {found.log_probs, found.entropy};
  } else if (const at::Tensor values = model.values(tokens, recompute); values.defined()) {
    outputs = {values};
  }
  return outputs.empty() ? at::Tensor() : test::weighted(outputs).to(at::kFloat);
}

struct Outcome {
  std::vector<double> numbers;  // loss and norm of each update
  NamedTensors gradients, weights;
};

template <class Model>
Outcome outcome_of(Model& model, const Layout& layout, const LearnerRanks& ranks, int64_t dp, int64_t dp_rank) {
  Outcome outcome;
  Learner learner("test", model.trained(), options_of(layout), ranks);
  for (int64_t update = 0; update < 2; ++update) {
    learner.keep_gradients(update == 0);
    const int64_t count = dp_rank < 4 % dp ? 4 / dp + 1 : 4 / dp;
    const UpdateResult result = learner.update(
        count, [&](int64_t k) { return MicroLoss(loss_of(model, k * dp + dp_rank, layout.recomputes)); });
    outcome.numbers.insert(outcome.numbers.end(), {result.loss, result.grad_norm});
    if (update == 0) outcome.gradients = learner.kept_gradient();
  }
  outcome.weights = model.parts().gather_all(model.trained(), true);
  return outcome;
}

/// What differs from the whole model's outcome.
std::string differences(const Outcome& own, const Outcome& whole, double tolerance) {
  std::string wrong;
  for (size_t i = 0; i < whole.numbers.size(); ++i)
    if (own.numbers[i] != Approx(whole.numbers[i]).epsilon(tolerance))
      wrong += fmt::format("number {}: {} is not {}; ", i, own.numbers[i], whole.numbers[i]);
  for (const auto list : {&Outcome::gradients, &Outcome::weights}) {
    if ((own.*list).size() != (whole.*list).size()) wrong += "another number of tensors; ";
    for (size_t i = 0; i < std::min((own.*list).size(), (whole.*list).size()); ++i) {
      const auto& [name, local] = (own.*list)[i];
      const auto& [its_name, its] = (whole.*list)[i];
      const double scale = std::max(1e-2, its.abs().max().template item<double>());
      if (name != its_name || !at::allclose(local, its, tolerance, tolerance * scale))
        wrong += fmt::format("{} {}; ", list == &Outcome::gradients ? "gradient of" : "weights of", its_name);
    }
  }
  return wrong;
}

/// Both ends of a pipeline have a tied embedding, to the bit.
std::string check_ends(const Transformer& model) {
  PipelineStage& stage = *model.parts().stage();
  if (!model.spec().tied_head || (!stage.is_first() && !stage.is_last())) return "";
  const auto both = stage.ends().all_gather(model.backbone().embedding(), "embeddings");
  return both[0].equal(both[1]) ? "" : "the ends have other embeddings; ";
}
std::string check_ends(const ValueModel&) {
  return "";
}

template <class Model>
void check_stages(const Layout& layout) {
  const TemporaryFolder folder;
  const Transformer telling = test::telling_model({.arch = layout.arch,
                                                   .hidden = 16,
                                                   .layers = layout.num_layers(),
                                                   .heads = 4,
                                                   .kv_heads = 2,
                                                   .intermediate = 24,
                                                   .vocab = 71,
                                                   .layer_input = layout.layer_input,
                                                   .keyless_layers = layout.keyless_layers,
                                                   .tie = layout.tie});
  for (const auto& [name, tensor] : telling.parameters())  // scores that are not scaled: rounding tells before they do
    if (name.ends_with("q_norm.weight")) tensor.detach().mul_(layout.keyless_layers > 0 ? 0.05 : 0.25);
  telling.save(folder.path());
  Model model = Model::load(folder.path());
  const auto alone = make_single_communicator({.rank = 0, .size = 1});
  LearnerRanks own(*alone);
  own.parts = &model.parts();
  const Outcome whole = outcome_of(model, layout, own, 1, 0);
  const int64_t dp = 2 / layout.shape.stage_ranks();
  const double tolerance = layout.keyless_layers > 0 ? 5e-5 : 1e-5;  // their second update grows rounding tenfold
  for (const auto& wrong : run_local_ranks(static_cast<int>(dp * layout.shape.model_ranks()), [&](Communicator& world) {
         Mesh mesh(world, layout.shape);
         ModelParallel parallel = test::parallel_of(mesh);
         parallel.stage = std::make_shared<PipelineStage>(StageSplit(layout.sizes, layout.num_chunks()), mesh);
         Model own = Model::load(folder.path(), at::kCPU, at::kFloat, parallel);
         const Outcome outcome = outcome_of(own, layout, {mesh, own.parts()}, dp, mesh.place().dp);
         std::string wrong = differences(outcome, whole, tolerance) + check_ends(own);
         world.barrier("rank 0 holds the store until all have met");
         return wrong;
       }))
    CHECK(wrong == "");
}

}  // namespace

TEST_CASE("Stages of a pipeline train together as one rank trains the whole", "[pipeline][learner]") {
  SECTION("two, tied, two data ranks") {
    check_stages<Transformer>({{.pp = 2}, {2, 1}});
  }
  SECTION("three, untied, tensor ranks") {
    check_stages<Transformer>({{.tp = 2, .pp = 3}, {1, 1, 1}, false});
  }
  SECTION("two, tied, tensor ranks, whole optimizers") {
    check_stages<Transformer>({{.tp = 2, .pp = 2}, {1, 2}, true, /*shares=*/false});
  }
  SECTION("two, tied, context ranks, recomputed") {
    check_stages<Transformer>({{.cp = 2, .pp = 2}, {1, 2}, true, true, /*recomputes=*/true});
  }
  SECTION("three, tied, a part frozen that one of them has") {
    check_stages<Transformer>({{.pp = 3}, {1, 1, 1}, true, true, false, {"model.layers.1.mlp"}});
  }
  SECTION("two with three chunks each, tied, two data ranks, recomputed") {
    check_stages<Transformer>({{.pp = 2, .ring = true}, {1, 0, 0, 1, 1, 0}, true, true, /*recomputes=*/true});
  }
  SECTION("two with two chunks each, untied, tensor ranks, of which the first trains nothing") {
    check_stages<Transformer>(
        {{.tp = 2, .pp = 2, .ring = true}, {0, 1, 1, 1}, false, true, false, {"model.embed_tokens"}});
  }
  SECTION("two, tied, of layers whose scales are not trained") {
    check_stages<Transformer>({{.pp = 2}, {1, 2}, true, true, false, {}, "gemma4_text"});
  }
  SECTION("four, whose layers read keys of earlier ones and inputs of their own") {
    check_stages<Transformer>({{.pp = 4}, {2, 2, 1, 1}, true, true, false, {}, "gemma4_text", 5, 3});
  }
  SECTION("the same, two with three chunks, tensor ranks, recomputed, of which one trains nothing") {
    check_stages<Transformer>({{.tp = 2, .pp = 2, .ring = true},
                               {0, 2, 1, 0, 1, 1},
                               true,
                               true,
                               /*recomputes=*/true,
                               {"model.embed_tokens", "model.per_layer"},
                               "gemma4_text",
                               6,
                               3});
  }
  SECTION("the same, two, context ranks, a value head") {
    check_stages<ValueModel>({{.cp = 2, .pp = 2}, {2, 1}, true, true, false, {}, "gemma4_text", 5, 1});
  }
  SECTION("two, tensor ranks, of layers with windows and one without RoPE") {
    check_stages<Transformer>({{.tp = 2, .pp = 2}, {2, 2}, false, true, false, {}, "exaone4"});
  }
  SECTION("two, of mixtures with sigmoid routers and norms over all heads") {
    check_stages<Transformer>({{.pp = 2}, {1, 2}, false, true, false, {}, "minimax_m2"});
  }
  SECTION("three, a value head") {
    check_stages<ValueModel>({{.pp = 3}, {1, 1, 1}});
  }
}

}  // namespace roll
