// Ranks that share layers and gradients in an update against ranks that have them whole: the same numbers, and no more
// than a layer or two at a time.
#include "optim/gathered_layers.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "checkpoint/temporary_folder.h"
#include "dist/local_ranks.h"
#include "dist/single.h"
#include "model/log_probs.h"
#include "model/some_ids.h"
#include "model/telling_model.h"
#include "optim/learner.h"

namespace roll {

using test::run_local_ranks;
using test::some_ids;
using test::TemporaryFolder;

namespace {

constexpr int64_t kNumLayers = 3;

struct Way {
  bool gathers = true;
  Recomputation recompute = kEveryLayer;
  at::ScalarType dtype = at::kFloat;
  bool uses_muon = false;
};

/// Of the layers' matrices those that are there.
int64_t num_here(const Transformer& model) {
  int64_t here = 0;
  for (const auto& [name, tensor] : model.parameters())
    here += layer_number(name) >= 0 && tensor.dim() == 2 && tensor.is_contiguous();
  return here;
}

/// Each layer's matrices are there, or not, together.
constexpr int64_t kOfLayer = 7;

struct Trained {
  std::vector<double> numbers;  // losses and norms
  NamedTensors gradients, weights;
  int64_t here_at_start = 0, here_behind_forward = 0, here_between = 0;
};

Trained train_by(const std::filesystem::path& folder, Communicator& ranks, const Way& way) {
  Transformer model = Transformer::load(folder, at::kCPU, way.dtype);
  Trained outcome;
  Mesh mesh(ranks, {});
  Learner learner("test", model.trained(),
                  {.adamw = {.epsilon = 1e-4, .weight_decay = 0.1},
                   .muon = way.uses_muon ? std::optional(MuonConfig()) : std::nullopt,
                   .schedule = {.type = LrScheduleType::kConstant, .peak_lr = 1e-2},
                   .max_grad_norm = 0.5,
                   .gathers_layers = way.gathers},
                  {mesh, model.parts()});
  model.backbone().use_store(learner.layer_store());
  for (int64_t update = 0; update < 2; ++update) {
    learner.keep_gradients(update == 0);
    const UpdateResult result = learner.update(2, [&](int64_t k) {
      const int64_t which = 2 * k + ranks.rank();
      outcome.here_at_start = num_here(model);
      const PackedTokens tokens = pack_tokens({some_ids(5 + 3 * which, which), some_ids(2 + which * which, which + 7)});
      const TokenLogProbs found = token_log_probs(model, tokens, 0.9, true, way.recompute);
      outcome.here_behind_forward = num_here(model);
      return MicroLoss((found.log_probs.sum() + found.entropy.sum()).to(at::kFloat) / 40);
    });
    outcome.numbers.insert(outcome.numbers.end(), {result.loss, result.grad_norm});
    if (update == 0) outcome.gradients = learner.kept_gradient();
    outcome.here_between = num_here(model);
  }
  outcome.weights = model.trained();
  return outcome;
}

std::string differences(const Trained& own, const Trained& whole, double bound) {
  std::string wrong;
  for (size_t i = 0; i < whole.numbers.size(); ++i)
    if (own.numbers[i] != Approx(whole.numbers[i]).epsilon(bound)) wrong += fmt::format("number {}; ", i);
  for (const auto list : {&Trained::gradients, &Trained::weights})
    for (size_t i = 0; i < (whole.*list).size(); ++i)
      if (!at::allclose((own.*list)[i].second.to(at::kDouble), (whole.*list)[i].second.to(at::kDouble), bound, bound))
        wrong +=
            fmt::format("{} {}; ", list == &Trained::gradients ? "gradient of" : "weights of", (whole.*list)[i].first);
  return wrong;
}

void check(const Way& way, bool tie, double bound) {
  const TemporaryFolder folder;
  test::telling_model(
      {.hidden = 16, .layers = kNumLayers, .heads = 4, .kv_heads = 2, .intermediate = 24, .vocab = 71, .tie = tie})
      .save(folder.path());
  const auto said = run_local_ranks(2, [&](Communicator& ranks) {
    const Trained own = train_by(folder.path(), ranks, way);
    Way plain = way;
    plain.gathers = false;
    const Trained whole = train_by(folder.path(), ranks, plain);
    std::string wrong = differences(own, whole, bound);
    const auto expect = [&](const char* what, int64_t found, int64_t expected) {
      if (found != expected) wrong += fmt::format("{}: {} matrices, not {}; ", what, found, expected);
    };
    const int64_t kept = kNumLayers - std::min(way.recompute.layers, kNumLayers);
    expect("whole ranks", whole.here_behind_forward, kNumLayers * kOfLayer);
    expect("at a micro-batch's start", own.here_at_start, 0);
    expect("behind its forward", own.here_behind_forward, kept * kOfLayer);
    expect("between updates", own.here_between, kNumLayers * kOfLayer);
    return wrong;
  });
  for (const std::string& wrong : said) CHECK(wrong == "");
}

}  // namespace

TEST_CASE("layers have their number in their parameters' names", "[optim]") {
  CHECK(layer_number("model.layers.12.mlp.up_proj.weight") == 12);
  CHECK(layer_number("model.language_model.layers.3.mlp.up_proj.weight") == 3);
  CHECK(layer_number("model.embed_tokens.weight") == -1);
}

TEST_CASE("while a layer is computed the next one comes, and of one layer there are gradients", "[optim]") {
  const TemporaryFolder folder;
  test::telling_model({.hidden = 16, .layers = kNumLayers, .heads = 4, .kv_heads = 2, .intermediate = 24, .vocab = 71})
      .save(folder.path());
  const auto said = run_local_ranks(2, [&](Communicator& ranks) {
    using Pass = LayerStore::Pass;
    const Transformer model = Transformer::load(folder.path(), at::kCPU, at::kFloat);
    FlatOptimizer optimizer(model.trained(), {}, {.num_slices = 2, .index = ranks.rank(), .unit = layer_number});
    GatheredLayers layers(optimizer, model.trained(), ranks);
    std::vector<LayerStore::Weights> weights(kNumLayers);
    for (const auto& [name, tensor] : model.trained())
      if (layer_number(name) >= 0 && tensor.dim() == 2) weights[layer_number(name)].push_back(tensor);
    std::vector<at::Tensor> vectors;
    for (const auto& [name, tensor] : model.trained())
      if (tensor.dim() < 2) vectors.push_back(tensor);
    std::string states;  // of each layer: here, with gradients, away
    const auto look = [&] {
      for (const auto& layer : weights)
        states += !layer.front().is_contiguous() ? '.' : layer.front().grad().defined() ? 'G' : 'h';
      states += ' ';
    };
    std::string wrong;
    const auto expect = [&](const char* what, bool holds) {
      if (!holds) wrong += fmt::format("{}; ", what);
    };
    const int64_t bucket = optimizer.layout().bucket_by_tensor[1], size = optimizer.layout().buckets[bucket].size;
    const auto expect_slices = [&] {
      expect("what is away reads as no number", at::isnan(weights[0].front()).all().item<bool>());
      expect("vectors are here", std::ranges::all_of(vectors, [](const auto& v) { return v.is_contiguous(); }));
      expect("of what is away a slice is kept",
             static_cast<int64_t>(optimizer.parameter_slice(bucket).storage().nbytes()) == size / 2 * 4);
      expect("no gradient is kept", !optimizer.gradient(bucket).defined());
    };
    layers.begin();
    look();
    expect_slices();
    for (const int64_t l : {0, 1, 2}) {
      layers.enter(weights[l], l < 2 ? weights[l + 1] : LayerStore::Weights(), Pass::kForward);
      look();
      layers.leave(weights[l]);
    }
    look();
    for (const int64_t l : {2, 1, 0}) {
      layers.enter(weights[l], l > 0 ? weights[l - 1] : LayerStore::Weights(), Pass::kBackward);
      look();
    }
    layers.end_backward();
    look();
    expect_slices();
    layers.end();
    look();
    expect("whole layers are kept once", optimizer.parameter_slice(bucket).is_alias_of(optimizer.parameters(bucket)));
    return states + wrong;
  });
  for (const std::string& states : said) CHECK(states == "... hh. .hh ..h ... .hG hG. G.. ... hhh ");
}

TEST_CASE("what tensor ranks have copies of is not gathered, nor is anything on one rank", "[optim]") {
  const Transformer model = Transformer::init({.vocab_size = 9,
                                               .hidden_size = 8,
                                               .intermediate_size = 8,
                                               .num_layers = 1,
                                               .num_heads = 2,
                                               .num_kv_heads = 1,
                                               .head_dim = 4},
                                              1);
  const auto copies = [](const std::string& name) { return name.find("k_proj") == std::string::npos ? 1 : 2; };
  const FlatOptimizer optimizer(model.trained(), {}, {.num_slices = 2, .copies = copies, .unit = layer_number});
  for (size_t i = 0; i < model.trained().size(); ++i) {
    const auto& [name, tensor] = model.trained()[i];
    INFO(name);
    CHECK(optimizer.is_gathered(optimizer.layout().bucket_by_tensor[i]) ==
          (tensor.dim() == 2 && layer_number(name) == 0 && copies(name) == 1));
  }
  const auto alone = make_single_communicator({.rank = 0, .size = 1});
  CHECK_FALSE(Learner("test", model.trained(), {.gathers_layers = true}, *alone).gathers_layers());
}

TEST_CASE("ranks that gather layers train as those that have them whole", "[optim]") {
  check({}, /*tie=*/true, 1e-6);
  check({.recompute = {.layers = kEveryLayer.layers, .together = 2}}, /*tie=*/false, 1e-6);
  check({.recompute = {.layers = 1}}, /*tie=*/true, 1e-6);
  check({.recompute = {}}, /*tie=*/true, 1e-6);
  check({.dtype = at::kBFloat16}, /*tie=*/true, 2e-2);
  check({.uses_muon = true}, /*tie=*/true, 1e-5);
}

}  // namespace roll
