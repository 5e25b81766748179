// A mixture of experts against each token's own sum, and what its training keeps of layouts.
#include "model/experts.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <set>

#include "base/file.h"
#include "checkpoint/hf_folder.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/save_folder.h"
#include "checkpoint/temporary_folder.h"
#include "dist/local_ranks.h"
#include "dist/mesh.h"
#include "model/golden.h"
#include "model/log_probs.h"
#include "model/mixture.h"
#include "model/model_folder.h"
#include "model/parameter_shards.h"
#include "model/peft_config.h"
#include "model/rewrite.h"
#include "model/router_training.h"
#include "model/some_ids.h"
#include "model/telling_model.h"
#include "ops/grouped_linear.h"
#include "ops/sorted_rows.h"

namespace roll {

using Catch::Contains;

TEST_CASE("rows go to their groups in order, and come back weighted, with gradients as by hand", "[model]") {
  const at::Tensor groups = at::tensor({2, 0, 0, 3, 2, 3, 0, 2}, at::kLong).view({4, 2});
  const SortedRows rows = sort_rows(groups, 5);
  CHECK(rows.groups.counts() == std::vector<int64_t>{3, 0, 3, 2, 0});
  at::Tensor x = at::randn({4, 3}, at::kDouble).requires_grad_(true), plain = x.detach().clone().requires_grad_(true);
  at::Tensor w = at::rand({4, 2}, at::kDouble).requires_grad_(true), plain_w = w.detach().clone().requires_grad_(true);
  std::vector<at::Tensor> weights;
  for (int64_t g = 0; g < 5; ++g) weights.push_back(at::randn({6, 3}, at::kDouble).requires_grad_(true));
  const at::Tensor spread = spread_rows(x, rows);
  CHECK(at::equal(spread[0], x[0]));  // of the first choice of group 0, which is token 0's second
  CHECK(at::equal(spread[1], x[1]));
  CHECK(at::equal(spread[2], x[3]));
  const at::Tensor sum = combine_rows(grouped_linear(spread, rows.groups, weights), w, rows);
  std::vector<at::Tensor> by_hand;
  for (int64_t t = 0; t < 4; ++t) {
    at::Tensor of_token = at::zeros({6}, at::kDouble);
    for (int64_t k = 0; k < 2; ++k) {
      const at::Tensor weight = weights[groups[t][k].item<int64_t>()].detach();
      of_token = of_token + plain_w[t][k] * at::mv(weight, plain[t]);
    }
    by_hand.push_back(of_token);
  }
  CHECK(at::allclose(sum, at::stack(by_hand)));
  const at::Tensor ramp = at::linspace(-1, 2, sum.numel(), at::kDouble).view(sum.sizes());
  (sum * ramp).sum().backward();
  (at::stack(by_hand) * ramp).sum().backward();
  CHECK(at::allclose(x.grad(), plain.grad()));
  CHECK(at::allclose(w.grad(), plain_w.grad()));
  CHECK_FALSE(weights[1].grad().defined());  // no row, no gradient
  const at::Tensor of_three = at::outer(ramp[1] * plain_w[1][1].detach(), plain[1].detach()) +
                              at::outer(ramp[2] * plain_w[2][1].detach(), plain[2].detach());
  CHECK(at::allclose(weights[3].grad(), of_three));
  const at::Tensor once = weights[3].grad().clone();  // what is there is added to, in place
  combine_rows(grouped_linear(spread_rows(x.detach(), rows), rows.groups, weights), w.detach(), rows)
      .mul(ramp)
      .sum()
      .backward();
  CHECK(at::allclose(weights[3].grad(), 2 * once));
}

namespace {

Transformer tiny_mixture(const char* arch) {
  InitSizes sizes;
  sizes.arch = arch, sizes.vocab = 71, sizes.hidden = 32, sizes.layers = 2, sizes.kv_heads = 2;
  sizes.experts = 5, sizes.expert_intermediate = 22;
  return test::telling_model(sizes);
}

}  // namespace

TEST_CASE("a mixture recomputes its activations to the same gradients, to the bit", "[model]") {
  const char* const arch = GENERATE("qwen2_moe", "qwen3_moe");
  const PackedTokens tokens = pack_tokens({test::some_ids(9, 1), test::some_ids(30, 2)});
  NamedTensors gradients[2];
  for (const bool recomputes : {false, true}) {
    const Transformer model = tiny_mixture(arch);
    token_log_probs(model, tokens, 1.0, true, recomputes ? kEveryLayer : Recomputation{}).log_probs.sum().backward();
    for (const auto& [name, tensor] : model.parameters())
      gradients[recomputes].emplace_back(name, tensor.grad().clone());
  }
  for (size_t i = 0; i < gradients[0].size(); ++i) {
    CAPTURE(gradients[0][i].first);
    CHECK(at::equal(gradients[0][i].second, gradients[1][i].second));
  }
}

namespace {

const std::vector<std::vector<int64_t>> kOfExperts = {test::some_ids(7, 1), test::some_ids(40, 3),
                                                      test::some_ids(19, 4), test::some_ids(2, 2)};

struct ExpertOutcome {
  NamedTensors gradients;
  std::vector<at::Tensor> of_routers;
};

/// Experts for the tokens that no router would choose.
at::Tensor some_experts(const PackedTokens& tokens, const ModelSpec& spec) {
  const at::Tensor first = (tokens.ids * 7 + tokens.positions).unsqueeze(1) + at::arange(choices_per_token(spec)) * 5;
  return first.remainder(spec.mixture->routing.count).to(at::kShort);
}

/// The gradients of some loss of the sequences and of the routers' costs on this rank.
ExpertOutcome expert_outcome(const Transformer& model, const std::vector<std::vector<int64_t>>& sequences,
                             const Recomputation& recompute, bool replays) {
  ExpertOutcome outcome;
  const auto pass_of_none = empty_pass(model.backbone(), recompute);
  if (sequences.empty()) {
    pass_of_none().backward();
  } else {
    PackedTokens tokens = pack_tokens(sequences);
    tokens.token_weight = 1.0 / (7 + 40 + 19 + 2);
    if (replays) tokens.routed_experts = some_experts(tokens, model.spec());
    tokens = with_routers(tokens, model.spec(), {.costs = {0.3, 0.1}});
    const TokenLogProbs found = token_log_probs(model, tokens, 1.0, true, recompute);
    const at::Tensor position = tokens.positions.to(at::kDouble);
    (found.log_probs * position.cos() + found.entropy * position.sin()).sum().backward();
    outcome.of_routers = found.routers->sums();
  }
  for (const auto& [name, tensor] : model.parameters())
    outcome.gradients.emplace_back(name, tensor.grad().defined() ? tensor.grad() : at::zeros_like(tensor));
  return outcome;
}

struct ExpertLayout {
  int64_t dp, cp, tp, ep;
};

/// Mixtures that are tried in more layouts than others.
const std::vector<std::string> kThoroughly = {"qwen2_moe", "qwen3_moe", "glm4_moe"};

/// New adapters' B are zeros, from which their A would learn nothing.
void fill_expert_adapters(const Transformer& model) {
  const at::NoGradGuard no_grad;
  for (const auto& [name, tensor] : model.parameters()) {
    if (!name.ends_with(kLoraB)) continue;
    const std::vector<int64_t>& shape = model.parts().shape(name);
    const at::Tensor whole = at::linspace(-0.4, 0.5, shape[0] * shape[1], tensor.options()).view(shape);
    at::Tensor(tensor).copy_(model.parts().cut(name, whole));
  }
}

}  // namespace

TEST_CASE("ranks that share experts have the whole model's gradient, costs of routers among it", "[model]") {
  const char* const arch =
      GENERATE("qwen2_moe", "qwen3_moe", "glm4_moe", "gemma4_text", "minimax_m2", "granitemoe", "olmoe");
  const auto [dp, cp, tp, ep] = GENERATE(ExpertLayout{2, 1, 1, 2}, ExpertLayout{1, 2, 1, 2}, ExpertLayout{2, 1, 2, 2},
                                         ExpertLayout{4, 1, 1, 4}, ExpertLayout{4, 1, 1, 2}, ExpertLayout{1, 2, 1, 1},
                                         ExpertLayout{1, 1, 2, 1}, ExpertLayout{3, 1, 1, 3}, ExpertLayout{2, 2, 1, 4});
  const bool recompute = GENERATE(false, true), replays = recompute;
  const auto lora = GENERATE(std::optional<LoraSpec>(), std::optional(LoraSpec{.rank = 3, .alpha = 6}));
  CAPTURE(arch, dp, cp, tp, ep, recompute, lora.has_value());
  if (lora && (std::string(arch) != "qwen2_moe" || !recompute || dp * cp * tp * ep < 8)) return;
  if (std::string(arch) == "glm4_moe" && !recompute) return;
  const bool is_first = std::ranges::find(kThoroughly, std::string(arch)) != kThoroughly.end();
  if (!is_first && (!recompute || dp * cp * tp * ep < 8)) return;  // the others suffice
  const test::TemporaryFolder folder;
  InitSizes sizes;
  sizes.arch = arch, sizes.vocab = 71, sizes.hidden = 32, sizes.layers = 2, sizes.kv_heads = 2;
  sizes.experts = 12, sizes.expert_intermediate = 22;
  test::telling_model(sizes).save(folder / "m");
  const Transformer one = Transformer::load(folder / "m", at::kCPU, at::kDouble, {}, architectures(), lora);
  fill_expert_adapters(one);
  const ExpertOutcome whole = expert_outcome(one, kOfExperts, {}, replays);
  const MeshShape shape{.cp = cp, .tp = tp, .ep = ep};
  for (const auto& wrong : test::run_local_ranks(static_cast<int>(dp * cp * tp), [&, dp = dp](Communicator& world) {
         std::string differences;
         Mesh mesh(world, shape);
         const ModelParallel parallel{.tp = shape.tp > 1 ? &mesh.tp() : nullptr,
                                      .cp = shape.cp > 1 ? &mesh.cp() : nullptr,
                                      .ep = mesh.experts()};
         const Transformer model =
             Transformer::load(folder / "m", at::kCPU, at::kDouble, parallel, architectures(), lora);
         fill_expert_adapters(model);
         std::vector<std::vector<int64_t>> own;  // the first data ranks have more, and the last of four none
         for (size_t i = 0; i < kOfExperts.size(); ++i)
           if (std::min<int64_t>(static_cast<int64_t>(i), std::max<int64_t>(dp - 2, 1)) % dp == mesh.place().dp)
             own.push_back(kOfExperts[i]);
         ExpertOutcome local = expert_outcome(model, own, recompute ? kEveryLayer : Recomputation{}, replays);
         for (auto& [name, gradient] : local.gradients) {
           model.parts().sum_copies(name, gradient);
           (model.parts().is_of_expert(name) ? mesh.expert_shards() : mesh.shards()).all_reduce_sum(gradient, name);
         }
         const NamedTensors all = model.parts().gather_all(local.gradients, true);
         for (size_t i = 0; i < all.size(); ++i) {
           const at::Tensor& expected = whole.gradients[i].second;
           const double scale = expected.abs().max().item<double>();
           if (all[i].first != whole.gradients[i].first || !at::allclose(all[i].second, expected, 1e-9, 1e-9 * scale))
             differences += all[i].first + " ";
         }
         for (size_t i = 0; i < whole.of_routers.size(); ++i) {
           at::Tensor sum = own.empty() ? at::zeros({}, at::kDouble) : local.of_routers[i].clone();
           mesh.dp().all_reduce_sum(sum, "of routers");
           if (!at::allclose(sum, whole.of_routers[i])) differences += fmt::format("routers' number {} ", i);
         }
         if (model.parts().checksum(model.parameters()) != one.parts().checksum(one.parameters()))
           differences += "checksum";
         return all.size() == whole.gradients.size() ? differences : "not all are there";
       }))
    CHECK(wrong == "");
}

namespace {

/// What is learnt by hidden states whose weights stand for those of a loss.
NamedTensors gradients_of(const Transformer& model) {
  const PackedTokens tokens = pack_tokens({test::some_ids(9, 1), test::some_ids(30, 2)});
  const at::Tensor log_probs = token_log_probs(model, tokens, 1.0, true).log_probs;
  (log_probs * at::linspace(-1, 2, log_probs.numel(), at::kDouble)).sum().backward();
  NamedTensors gradients = {{"log_probs", log_probs.detach()}};
  for (const auto& [name, tensor] : model.trained()) gradients.emplace_back(name, tensor.grad());
  return gradients;
}

}  // namespace

TEST_CASE("adapters of experts compute and learn what their matrices in the weights' place do", "[model][lora]") {
  const std::string arch = GENERATE("qwen2_moe", "qwen3_moe", "qwen3_5_moe_text");
  CAPTURE(arch);
  const test::TemporaryFolder folder;
  tiny_mixture(arch.c_str()).save(folder / "m");
  const LoraSpec lora{.rank = 3, .alpha = 6};
  const Transformer adapted = Transformer::load(folder / "m", at::kCPU, at::kDouble, {}, architectures(), lora);
  {
    const at::NoGradGuard no_grad;
    for (auto& [name, tensor] : adapted.trained())
      if (name.ends_with(kLoraB)) tensor.copy_(at::linspace(-0.4, 0.5, tensor.numel()).view(tensor.sizes()));
  }
  adapted.save(folder / "merged");
  const Transformer merged = Transformer::load(folder / "merged", at::kCPU, at::kDouble);
  const NamedTensors local = gradients_of(adapted), theirs = gradients_of(merged);
  CHECK(at::allclose(local[0].second, theirs[0].second, 0, 1e-10));
  const auto number = [](const NamedTensors& all, const std::string& name) {
    const auto found = std::ranges::find(all, name, [](const auto& named) { return named.first; });
    return found == all.end() ? at::Tensor() : found->second;
  };
  int64_t of_experts = 0;
  for (const auto& [name, gradient] : local) {
    if (!name.ends_with(kLoraA) || name.find("mlp.") == std::string::npos) continue;
    CAPTURE(name);
    const std::string part = name.substr(0, name.size() - std::string_view(kLoraA).size());
    const at::Tensor d_weight = number(theirs, part + ".weight"), d_b = number(local, part + kLoraB);
    REQUIRE(d_weight.defined() == gradient.defined());  // some experts have no tokens
    if (!d_weight.defined()) continue;
    const at::Tensor a = parameter(adapted.trained(), name), b = parameter(adapted.trained(), part + kLoraB);
    CHECK(at::allclose(gradient, 2 * at::mm(b.t(), d_weight), 1e-9, 1e-12));  // alpha / rank = 2
    CHECK(at::allclose(d_b, 2 * at::mm(d_weight, a.t()), 1e-9, 1e-12));
    of_experts += name.find("mlp.experts.") != std::string::npos;
  }
  CHECK(of_experts >= 12);
  CHECK_FALSE(number(local, std::string("model.layers.0.mlp.gate") + kLoraA).defined());  // routers have none
}

TEST_CASE("layers that guess further tokens are kept, and biases stay float32 whatever the folder's dtype", "[model]") {
  const test::TemporaryFolder folder;
  const Json golden = test::read_golden("glm4_moe");  // of three layers
  NamedTensors weights;
  for (const auto& [name, tensor] : test::golden_weights(golden, false))
    weights.emplace_back(name, name.ends_with("_bias") ? tensor : tensor.to(at::kBFloat16));
  weights.emplace_back("model.layers.3.eh_proj.weight", at::randn({4, 2}).to(at::kBFloat16));
  test::save_folder(folder / "m", golden["config"], weights, {});
  rewrite_folder(folder / "m", folder / "again", {}, false);
  rewrite_folder(folder / "m", folder / "float", {.dtype = at::kFloat}, false);
  rewrite_folder(folder / "float", folder / "half", {.dtype = at::kBFloat16}, false);
  for (const char* name : {"again", "half"}) {
    const HfFolder written = HfFolder::open(folder / name);
    REQUIRE(written.entries().size() == weights.size());
    for (const auto& [weight, tensor] : weights) {
      INFO(name << ": " << weight);
      CHECK(written.read(weight).scalar_type() == tensor.scalar_type());
      CHECK(at::equal(written.read(weight), tensor));
    }
  }
  const Transformer model = Transformer::load(folder / "m", at::kCPU, at::kBFloat16);
  const at::Tensor& bias = parameter(model.parameters(), "model.layers.1.mlp.gate.e_score_correction_bias");
  CHECK((bias.scalar_type() == at::kFloat && !bias.requires_grad()));
  weights.emplace_back("model.layers.2.eh_proj.weight", at::randn({4, 2}));  // of a layer that is there
  test::save_folder(folder / "wrong", golden["config"], weights, {});
  CHECK_THAT(test::message_of([&] { Transformer::load(folder / "wrong"); }),
             Contains("model.layers.2.eh_proj.weight [4, 2]: config.json describes a model without this tensor"));
}

TEST_CASE("adapters lie where their experts do, A cut as what these take and B as what they give", "[model][lora]") {
  const ModelSpec spec = with_adapters(tiny_mixture("qwen3_moe").spec(), LoraSpec{.rank = 3, .alpha = 6}, "m");
  const std::vector<ParameterShape> all = policy_parameters(spec);
  const std::string layer = "model.layers.1.mlp.experts.";
  const auto part_of = [&](const std::string& name, int64_t rank) {
    const auto found = std::ranges::find(all, layer + name, &ParameterShape::name);
    REQUIRE(found != all.end());
    return make_tensor_shard(found->cut, rank, 2);
  };
  for (const std::string part : {"3.gate_proj", "3.up_proj"}) {
    CHECK((part_of(part + kLoraA, 1).dim == -1 && part_of(part + kLoraA, 1).copies == 2));  // summed over ranks
    CHECK((part_of(part + kLoraB, 1).dim == 0 && part_of(part + kLoraB, 1).begin == 11));
  }
  CHECK((part_of(std::string("3.down_proj") + kLoraA, 1).dim == 1));
  CHECK((part_of(std::string("3.down_proj") + kLoraA, 1).begin == 11));
  CHECK(part_of(std::string("3.down_proj") + kLoraB, 1).dim == -1);
  std::set<std::string> held;
  for (const ParameterShape& parameter : held_by(all, 3, 5))  // one expert each
    if (parameter.name.starts_with(layer) && parameter.is_adapter) held.insert(parameter.name.substr(layer.size()));
  std::set<std::string> expected;
  for (const std::string part : {"3.gate_proj", "3.up_proj", "3.down_proj"})
    for (const char* end : {kLoraA, kLoraB}) expected.insert(part + end);
  CHECK(held == expected);
}

TEST_CASE("a mixture's adapters are named so that PEFT finds all of them, and only them", "[model][lora]") {
  const auto config_of_targets = [](const std::vector<std::string>& targets) {
    const LoraSpec lora{.rank = 3, .alpha = 6, .targets = targets};
    const ModelSpec spec = with_adapters(tiny_mixture("qwen2_moe").spec(), lora, "m");
    return peft_config(spec, policy_parameters(spec), "m", "CAUSAL_LM");
  };
  const Json shared = config_of_targets({"q_proj", "shared_expert.up_proj"});
  CHECK(shared["target_modules"] == Json({"q_proj"}));
  CHECK(shared["target_parameters"] == Json({"mlp.shared_expert.up_proj.weight"}));
  CHECK_FALSE(shared.contains("rank_pattern"));
  const Json pairs = config_of_targets({"gate_proj", "up_proj"});
  CHECK(pairs["target_parameters"] == Json({"mlp.experts.down_proj", "mlp.experts.gate_up_proj",
                                            "mlp.shared_expert.gate_proj.weight", "mlp.shared_expert.up_proj.weight"}));
  CHECK(pairs["rank_pattern"].front() == 6);
  CHECK(pairs["alpha_pattern"].front() == 12);
  CHECK(pairs["target_modules"].front() == "mlp.experts.0.gate_proj");
}

TEST_CASE("stacked experts' adapters are PEFT's pairs in a folder, and each expert's own when read", "[model][lora]") {
  const test::TemporaryFolder folder;
  test::write_golden_folder(test::read_golden("gemma4_mixture"), false, folder / "m");
  const LoraSpec lora{.rank = 3, .alpha = 6};
  const Transformer model = Transformer::load(folder / "m", at::kCPU, at::kDouble, {}, architectures(), lora);
  const at::NoGradGuard no_grad;
  for (auto& [name, tensor] : model.trained())
    if (name.ends_with(kLoraB)) tensor.copy_(at::linspace(-0.4, 0.5, tensor.numel()).view(tensor.sizes()));
  make_folder(folder / "a");
  model.write_files(folder / "a", model.trained());
  const std::filesystem::path file = folder / "a" / "adapter_model.safetensors";
  const std::string module = "base_model.model.model.layers.0.experts", pairs = module + ".base_layer";
  NamedTensors stored;
  const SafetensorsFile written(file);
  for (const TensorEntry& entry : written.entries()) stored.emplace_back(entry.name, written.read(entry.name).clone());
  CHECK(parameter(stored, pairs + kLoraA).sizes().vec() == std::vector<int64_t>{6 * 2 * 3, 24});
  CHECK(parameter(stored, module + kLoraB).sizes().vec() == std::vector<int64_t>{24, 3 * 6});
  const Transformer read = Transformer::load(folder / "a", at::kCPU, at::kDouble);
  for (const auto& [name, tensor] : model.trained()) CHECK(at::equal(parameter(read.trained(), name), tensor));
  CHECK_NOTHROW(Transformer::load(folder / "a", at::kCPU, at::kDouble, {}, architectures(), lora));
  // Trained further by PEFT, gates and ups may share numbers.
  at::Tensor mixed = parameter(stored, pairs + kLoraB);
  mixed[0][3 * 6] = 1;  // of a gate's row by the first number of its up
  write_safetensors(file, stored);
  CHECK_THAT(test::message_of([&] { Transformer::load(folder / "a"); }),
             Contains("gate_proj and up_proj share an adapter"));
}

TEST_CASE("what experts and their adapters have not is refused", "[model][lora]") {
  const ModelSpec spec = tiny_mixture("qwen2_moe").spec();
  const auto refused = [&](LoraSpec lora) { return test::message_of([&] { with_adapters(spec, lora, "m"); }); };
  CHECK(refused({}) == "no exception");
  CHECK(refused({.targets = {"q_proj", "v_proj"}, .dropout = 0.1}) == "no exception");
  CHECK_THAT(refused({.dropout = 0.1}),
             Contains("lora_dropout = 0.1: dropout is not supported for experts and the MLPs beside them"));
  CHECK_THAT(refused({.targets = {"shared_expert.up_proj"}, .dropout = 0.1}), Contains("lora_dropout = 0.1"));
  CHECK_THAT(refused({.use_dora = true, .targets = {"gate_proj", "up_proj"}}),
             Contains("use_dora = true: DoRA is not supported for experts and the MLPs beside them"));
  CHECK_THAT(refused({.targets = {"up_proj"}}),
             Contains("lora_target = up_proj: PEFT treats gate_proj and up_proj of experts as one weight") &&
                 Contains("name gate_proj, too"));
  CHECK_THAT(refused({.targets = {"gate"}}),
             Contains("lora_target = gate: the model has no such linear layer; it has down_proj, gate_proj, k_proj"));
  CHECK_THAT(refused({.targets = {"q_proj"}, .quantise_base = Quantisation::kInt8}), Contains("quantise_base = int8"));
}

}  // namespace roll
