// The multi-token-prediction head beside what transformers' layers compute (tests/oracles/make_golden_mtp.py), under
// each way to share a model, and in folders.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "checkpoint/temporary_folder.h"
#include "dist/local_ranks.h"
#include "model/experts.h"
#include "model/golden.h"
#include "model/log_probs.h"
#include "model/mtp.h"
#include "model/parallel_outcome.h"
#include "model/transformer.h"
#include "optim/learner.h"
#include "packing/alignment.h"

namespace roll {

using Catch::Contains;
using test::TemporaryFolder;

namespace {

const std::vector<std::string> kMtpModels = {"qwen3_5", "qwen3_5_moe", "qwen3_next", "glm4_moe", "deepseek_v3"};

/// The head's weights, by the formula of make_golden_mtp.py.
NamedTensors head_weights(const Json& golden) {
  NamedTensors weights;
  int64_t k = 500;
  for (const auto& [name, shape] : golden["shapes"].items()) {  // by name
    const auto sizes = shape.get<std::vector<int64_t>>();
    at::Tensor w = test::golden_numbers(k++, c10::multiply_integers(sizes)).reshape(sizes) *
                   (sizes.size() == 1 ? 0.3 : std::sqrt(3.0 / static_cast<double>(sizes[1])));
    if (name.find("norm") != std::string::npos) w = w + 1.0;
    weights.emplace_back(name, w.to(at::kFloat));
  }
  return weights;
}

/// A folder of the golden model with its head, and with `more` tensors.
std::filesystem::path write_mtp_folder(const std::string& name, const std::filesystem::path& folder,
                                       const NamedTensors& more = {}) {
  const Json golden = test::read_golden(name);
  NamedTensors weights = test::golden_weights(golden, false);
  for (const NamedTensors& further : {head_weights(test::read_golden("mtp_" + name)), more})
    weights.insert(weights.end(), further.begin(), further.end());
  test::save_folder(folder, golden["config"], weights, {});
  return folder;
}

Transformer load_with_mtp(const std::filesystem::path& folder, const ModelParallel& parallel = {},
                          at::ScalarType dtype = at::kDouble) {
  return Transformer::load(folder, at::kCPU, dtype, parallel, architectures(), {}, nullptr, /*trains_mtp=*/true);
}

PackedTokens mtp_tokens(const std::string& name) {
  PackedTokens tokens = pack_tokens(test::read_golden(name)["ids"].get<std::vector<std::vector<int64_t>>>());
  tokens.trains_mtp = true;
  return tokens;
}

test::Outcome mtp_outcome(const Transformer& model, const Recomputation& recompute, const PackedTokens& tokens) {
  const at::Tensor wanted = at::arange(tokens.num_tokens(), at::kLong).remainder(5).ne(0);
  const TokenLogProbs y = token_log_probs(model, tokens, 0.9, false, recompute, wanted);
  return test::outcome_of(model, {y.log_probs, y.mtp_log_probs});
}

/// Three responses to one prompt, two of which begin alike, and another sequence.
PackedTokens grouped_tokens() {
  const auto ids = [](int64_t count, int64_t start) {
    std::vector<int64_t> found = test::some_ids(count, start);
    for (int64_t& id : found) id %= 61;
    return found;
  };
  std::vector<std::vector<int64_t>> sequences;
  for (const int64_t salt : {3, 4, 5}) {
    std::vector<int64_t> sequence = ids(26, 1);
    if (salt > 3) sequence.insert(sequence.end(), {7, 8, 9});
    for (const int64_t id : ids(6 * salt, salt)) sequence.push_back(id);
    sequences.push_back(sequence);
  }
  sequences.push_back(ids(9, 2));
  PackedTokens tokens = pack_tokens(sequences);
  tokens.trains_mtp = true;
  return tokens;
}

}  // namespace

TEST_CASE("the MTP head predicts and learns as transformers' layers do", "[model]") {
  const auto name = GENERATE(from_range(kMtpModels));
  INFO(name);
  const Json golden = test::read_golden("mtp_" + name);
  const double tolerance =
      name.starts_with("qwen3") ? 2e-5 : 5e-6;  // what a delta net reads is normed however small it is
  const TemporaryFolder folder;
  const Transformer model = load_with_mtp(write_mtp_folder(name, folder / "m"));
  const PackedTokens tokens = mtp_tokens(name);
  const at::Tensor found = token_log_probs(model, tokens, 0.7, false).mtp_log_probs;  // no temperature of the head's
  at::Tensor loss = at::zeros({}, at::kDouble);
  for (int64_t b = 0; b < tokens.num_sequences(); ++b) {
    const auto expected = golden["log_probs"][static_cast<size_t>(b)].get<std::vector<double>>();
    const at::Tensor row = found.narrow(0, tokens.cu_seqlens[b], tokens.length(b));
    REQUIRE(std::ssize(expected) == std::max<int64_t>(0, tokens.length(b) - 2));
    CHECK(row.narrow(0, std::ssize(expected), tokens.length(b) - std::ssize(expected)).eq(0).all().item<bool>());
    if (expected.empty()) continue;
    const at::Tensor own = row.narrow(0, 0, std::ssize(expected)).to(at::kDouble);
    CHECK((own - at::tensor(expected, at::kDouble)).abs().max().item<double>() < tolerance);
    loss = loss + (own * at::cos(at::arange(own.numel(), at::kDouble))).sum();
  }
  CHECK(loss.item<double>() == Approx(golden["loss"].get<double>()).margin(tolerance));
  loss.backward();
  NamedTensors gradients;
  for (const auto& [parameter, tensor] : model.parameters()) {
    if (model.parts().is_mtp(parameter)) {
      gradients.emplace_back(parameter, tensor.grad().defined() ? tensor.grad() : at::zeros_like(tensor));
      continue;
    }
    INFO(parameter);
    CHECK_FALSE(tensor.grad().defined());
  }
  gradients = fused_tensors(mtp_parameters(model.spec()), gradients);
  REQUIRE(gradients.size() == golden["shapes"].size());
  std::ranges::sort(gradients, {}, &NamedTensors::value_type::first);
  for (int64_t k = 1000; const auto& [parameter, gradient] : gradients) {
    INFO(parameter);
    const auto numbers = golden["gradients"].value(parameter, std::vector<double>{0, 0});
    const at::Tensor g = gradient.to(at::kDouble).flatten();
    const double norm = numbers[0], scale = norm * std::sqrt(static_cast<double>(g.numel()));
    CHECK(g.norm().item<double>() == Approx(norm).epsilon(1e-5).margin(1e-9));
    CHECK(std::abs((g * test::golden_numbers(k++, g.numel())).sum().item<double>() - numbers[1]) <=
          1e-5 * scale + 1e-9);
  }
}

TEST_CASE("the MTP head changes no bit of the policy's gradient", "[model]") {
  const TemporaryFolder folder;
  write_mtp_folder("glm4_moe", folder / "m");
  PackedTokens tokens = mtp_tokens("glm4_moe");
  const Transformer with = load_with_mtp(folder / "m", {}, at::kFloat);
  const TokenLogProbs both = token_log_probs(with, tokens, 1.0, false);
  (both.log_probs.sum() + 3 * both.mtp_log_probs.sum()).backward();
  const Transformer without = Transformer::load(folder / "m");
  tokens.trains_mtp = false;
  token_log_probs(without, tokens, 1.0, false).log_probs.sum().backward();
  for (const auto& [name, tensor] : without.parameters()) {
    INFO(name);
    const at::Tensor other = parameter(with.parameters(), name).grad();
    REQUIRE(other.defined() == tensor.grad().defined());
    if (other.defined()) CHECK(at::equal(other, tensor.grad()));
  }
}

TEST_CASE("ranks that share a model share its MTP head", "[model]") {
  const auto name = GENERATE("qwen3_5", "glm4_moe", "deepseek_v3");
  const auto shape = GENERATE(MeshShape{}, MeshShape{.cp = 2}, MeshShape{.tp = 2}, MeshShape{.cp = 2, .tp = 2});
  const bool shares = GENERATE(false, true);
  INFO(name << " cp " << shape.cp << " tp " << shape.tp << (shares ? " shared prompts" : ""));
  const TemporaryFolder folder;
  write_mtp_folder(name, folder / "m");
  PackedTokens tokens = grouped_tokens();
  const test::Outcome whole = mtp_outcome(load_with_mtp(folder / "m"), {}, tokens);
  if (shares) tokens.tree = prefix_tree(tokens, sequence_alignment(shape.cp, shape.tp), /*unshared=*/1);
  REQUIRE(tokens.tree.empty() != shares);
  for (const auto& wrong : test::run_local_ranks(static_cast<int>(shape.cp * shape.tp), [&](Communicator& world) {
         Mesh mesh(world, shape);
         const Transformer part = load_with_mtp(folder / "m", test::parallel_of(mesh));
         return test::differences(part, mtp_outcome(part, kEveryLayer, tokens), mesh, whole);
       }))
    REQUIRE(wrong == "");
}

TEST_CASE("the MTP head's router chooses where the sampler's choices are replayed", "[model]") {
  const TemporaryFolder folder;
  const Transformer model = load_with_mtp(write_mtp_folder("glm4_moe", folder / "m"));
  PackedTokens tokens = mtp_tokens("glm4_moe");
  const TokenLayout free = lay_out(tokens, {});
  tokens.routed_experts = at::arange(tokens.num_tokens() * choices_per_token(model.spec()))
                              .remainder(model.spec().mixture->routing.count)
                              .view({tokens.num_tokens(), -1})
                              .to(at::kShort);
  const TokenLayout replayed = lay_out(tokens, {});
  const at::Tensor hidden = model.backbone().forward(replayed, {}), next = at::roll(tokens.ids, -1);
  REQUIRE_FALSE(at::equal(hidden, model.backbone().forward(free, {})));
  CHECK(at::equal(model.backbone().look_ahead(hidden, next, replayed, {}),
                  model.backbone().look_ahead(hidden, next, free, {})));
}

TEST_CASE("ranks without a micro-batch share the updates of an MTP head", "[model]") {
  const auto name = GENERATE("glm4_moe", "qwen3_5");  // ranks share experts; a rank computes nothing at all
  const bool shares_experts = name == std::string("glm4_moe");
  const TemporaryFolder folder;
  write_mtp_folder(name, folder / "m");
  const auto updated = [&](Communicator& ranks) {
    Mesh mesh(ranks, {.ep = shares_experts ? ranks.size() : 1});
    const ModelParallel parallel{.ep = mesh.experts()};
    const Transformer model = load_with_mtp(folder / "m", parallel, at::kFloat);
    Learner learner("test", model.trained(),
                    {.adamw = {.epsilon = 1e-3},
                     .schedule = {.type = LrScheduleType::kConstant, .peak_lr = 1e-2},
                     .max_grad_norm = 0.5},
                    {mesh, model.parts()});
    const auto nothing = empty_pass(model.backbone(), {}, false, /*trains_mtp=*/true);
    const auto loss = [&](int64_t) -> MicroLoss {
      if (!ranks.is_first()) return nothing();
      const TokenLogProbs found = token_log_probs(model, mtp_tokens(name), 1.0, false);
      return (found.log_probs.sum() + found.mtp_log_probs.sum()).to(at::kFloat);
    };
    const UpdateResult result = learner.update(ranks.is_first() || shares_experts ? 1 : 0, loss);
    NamedTensors weights = model.parts().gather_all(model.trained(), /*keep=*/true);
    weights.emplace_back("norms", at::tensor({result.grad_norm, result.mtp_grad_norm.value_or(0)}));
    return weights;
  };
  NamedTensors whole;
  test::run_local_ranks(1, [&](Communicator& ranks) {
    whole = updated(ranks);
    return std::string();
  });
  for (const auto& wrong : test::run_local_ranks(2, [&](Communicator& ranks) {
         std::string differs;
         const NamedTensors weights = updated(ranks);
         for (size_t i = 0; i < weights.size(); ++i)
           if (weights[i].first != whole[i].first || !at::allclose(weights[i].second, whole[i].second, 1e-4, 1e-6))
             differs += weights[i].first + " ";
         return differs;
       }))
    CHECK(wrong == "");
}

TEST_CASE("a trained MTP head is saved with what it shares with the model", "[model]") {
  const auto name = GENERATE("qwen3_5", "qwen3_next", "glm4_moe");
  const bool is_behind = name == std::string("glm4_moe");
  const TemporaryFolder folder;
  const std::string layer = "model.layers.3.";
  const at::Tensor stale = at::ones({61, 24}, at::kBFloat16);
  NamedTensors copies;
  if (is_behind) copies = {{layer + "embed_tokens.weight", stale}, {layer + "shared_head.head.weight", stale}};
  write_mtp_folder(name, folder / "m", copies);
  const auto untrained = Transformer::load(folder / "m");
  untrained.save(folder / "again");
  const HfFolder before = HfFolder::open(folder / "m"), again = HfFolder::open(folder / "again");
  REQUIRE(again.entries().size() == before.entries().size());
  for (const TensorEntry& entry : before.entries()) CHECK(at::equal(again.read(entry.name), before.read(entry.name)));

  const Transformer model = load_with_mtp(folder / "m", {}, at::kFloat);
  {
    const at::NoGradGuard no_grad;
    for (const auto& [parameter, tensor] : model.parameters())
      at::Tensor(tensor).mul_(model.parts().is_mtp(parameter) ? 1.25 : 0.5);
  }
  model.save(folder / "trained");
  const HfFolder trained = HfFolder::open(folder / "trained");
  REQUIRE(trained.entries().size() == before.entries().size());
  for (const TensorEntry& entry : before.entries()) {
    INFO(entry.name);
    const at::Tensor found = trained.read(entry.name), old = before.read(entry.name);
    CHECK(found.scalar_type() == old.scalar_type());
    const bool is_head = entry.name.starts_with("mtp.") || entry.name.starts_with(layer);
    if (entry.name == layer + "embed_tokens.weight")
      CHECK(at::equal(found, (before.read("model.embed_tokens.weight") * 0.5).to(at::kBFloat16)));
    else if (entry.name == layer + "shared_head.head.weight")
      CHECK(at::equal(found, (before.read("lm_head.weight") * 0.5).to(at::kBFloat16)));
    else
      CHECK(at::equal(found, old * (is_head ? 1.25 : 0.5)));
  }
}

TEST_CASE("a model without one MTP head is refused if the head is to be trained", "[model]") {
  const TemporaryFolder folder;
  const auto message = [&](const std::string& name) { return test::message_of([&] { load_with_mtp(folder / name); }); };
  test::write_golden_folder(test::read_golden("smollm3"), false, folder / "none");
  CHECK_THAT(message("none"), Contains("models of type smollm3 have none"));
  test::write_golden_folder(test::read_golden("qwen3_next"), false, folder / "lacks");
  CHECK_THAT(message("lacks"), Contains("its folder lacks mtp.fc.weight"));
  write_mtp_folder("glm4_moe", folder / "two", {{"model.layers.4.eh_proj.weight", at::ones({24, 48})}});
  CHECK_THAT(message("two"), Contains("has several multi-token-prediction heads"));
  write_mtp_folder("qwen3_5", folder / "layers", {{"mtp.layers.1.input_layernorm.weight", at::ones({24})}});
  CHECK_THAT(message("layers"), Contains("has several multi-token-prediction heads"));
}

}  // namespace roll
