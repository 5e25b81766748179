// Against Hugging Face transformers; the numbers come from tests/oracles/make_golden_model.py.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <map>

#include "checkpoint/temporary_folder.h"
#include "model/backbone.h"
#include "model/golden.h"
#include "model/log_probs.h"
#include "model/mixture.h"
#include "model/router_training.h"
#include "model/spec.h"
#include "model/transformer.h"
#include "model/value_model.h"
#include "model/weights.h"

namespace roll {

using test::golden_numbers;
using test::read_golden;
using test::TemporaryFolder;

namespace {

using Rows = std::vector<std::vector<double>>;

constexpr double kNothing =
    2e-6;  // what rounding leaves of a gradient that is 0: of a key's bias where keys do not turn

/// The largest difference between packed numbers [T] and rows; rows that are one short leave out each last index.
double worst(const at::Tensor& packed, const std::vector<int64_t>& cu_seqlens, const Rows& rows) {
  const at::Tensor numbers = packed.detach().to(at::kDouble).contiguous();
  double largest = 0;
  for (size_t b = 0; b < rows.size(); ++b)
    for (size_t i = 0; i < rows[b].size(); ++i)
      largest =
          std::max(largest, std::abs(numbers.data_ptr<double>()[cu_seqlens[b] + static_cast<int64_t>(i)] - rows[b][i]));
  return largest;
}

/// f(t) at each token's index in its sequence, except the last one of each if `short_by_one`.
at::Tensor position_weights(const PackedTokens& tokens, bool short_by_one, at::Tensor (*f)(const at::Tensor&)) {
  at::Tensor weights = f(tokens.positions.to(at::kDouble));
  for (int64_t b = 0; b < tokens.num_sequences() && short_by_one; ++b) weights[tokens.cu_seqlens[b + 1] - 1] = 0;
  return weights;
}

/// Compares each gradient's norm and its product with formula numbers.
void check_gradients(const NamedTensors& parameters, const std::vector<ParameterShape>& shapes, const Json& golden,
                     double tolerance) {
  NamedTensors gradients;
  for (const auto& [name, tensor] : parameters) gradients.emplace_back(name, tensor.grad());
  const NamedTensors in_folder = fused_tensors(shapes, gradients);
  std::map<std::string, at::Tensor> by_name(in_folder.begin(), in_folder.end());
  const auto is_taught = [&](const auto& named) {  // by some token, or an expert that none goes through
    return named.second.defined() || (golden.contains(named.first) && golden[named.first][0] == 0);
  };
  REQUIRE(std::ranges::count_if(by_name, is_taught) == std::ssize(golden));
  int64_t k = 1000;
  for (const auto& [name, gradient] : by_name) {
    INFO(name);
    if (!gradient.defined()) {  // what is not trained
      ++k;
      continue;
    }
    const at::Tensor grad = gradient.to(at::kDouble);
    const double norm = golden[name][0], scale = norm * std::sqrt(static_cast<double>(grad.numel()));
    CHECK(std::abs(grad.norm().item<double>() - norm) <= tolerance * norm + kNothing);
    const double product = (grad.flatten() * golden_numbers(k++, grad.numel())).sum().item<double>();
    CHECK(std::abs(product - golden[name][1].get<double>()) <= tolerance * scale + kNothing);
  }
}

}  // namespace

TEST_CASE("log-probs, entropy and all gradients of tiny models equal those of transformers", "[model]") {
  const auto name = GENERATE(from_range(test::kGoldenModels), from_range(test::kGoldenArchitectures),
                             from_range(test::kGoldenDeltaNets), from_range(test::kGoldenGemma4));
  const auto dtype = GENERATE(at::kFloat, at::kDouble);
  INFO(name << " in " << at::toString(dtype));
  const Json golden = read_golden(name), &expected = golden["causal"];
  // transformers takes norms and, where scores are capped, softmax in float32 whatever the dtype. What a delta net
  // reads is normed however small it is: in float32 transformers is 2e-4 from itself in float64. Of gemma3 it is 1.5e-5
  // (eager) to 2.4e-5 (sdpa). Log-probs are float32 here, which shows behind gemma4's cap and scores that are not
  // scaled.
  const bool has_delta_nets = golden["config"].contains("linear_num_key_heads");
  const double of_float = has_delta_nets ? 2e-4 : name == std::string("gemma3") ? 2.4e-5 : 2e-5;
  const double tolerance = dtype == at::kFloat ? of_float
                           : golden["config"].contains("attn_logit_softcapping") || name == std::string("gemma4")
                               ? 1e-5
                               : 5e-6;
  const TemporaryFolder folder;
  const Transformer model = Transformer::load(test::write_golden_folder(golden, false, folder / "m"), at::kCPU, dtype)
                                .for_length(test::golden_length(golden));
  const PackedTokens tokens = pack_tokens(golden["ids"].get<std::vector<std::vector<int64_t>>>());
  const TokenLogProbs found = token_log_probs(model, tokens, 1.0, true);
  CHECK(worst(found.log_probs, tokens.cu_seqlens, expected["log_probs"].get<Rows>()) <= tolerance);
  CHECK(worst(found.entropy, tokens.cu_seqlens, expected["entropy"].get<Rows>()) <= tolerance);
  {
    const at::NoGradGuard no_grad;
    const TokenLogProbs hot = token_log_probs(model, tokens, 1.7, false);
    CHECK(worst(hot.log_probs, tokens.cu_seqlens, expected["log_probs_hot"].get<Rows>()) <= tolerance);
    CHECK_FALSE(hot.entropy.defined());
  }
  const at::Tensor loss = (found.log_probs * position_weights(tokens, true, at::cos)).sum() +
                          0.5 * (found.entropy * position_weights(tokens, true, at::sin)).sum();
  CHECK(loss.item<double>() == Approx(expected["loss"].get<double>()).margin(100 * tolerance));
  loss.backward();
  check_gradients(model.parameters(), policy_parameters(model.spec()), expected["gradients"], 2 * tolerance);
}

TEST_CASE("tokens go through the experts that were recorded of them, as transformers' do when its routers are told",
          "[model]") {
  const Json golden = read_golden("qwen3_moe_dense_layer"), &expected = golden["replayed"];
  const TemporaryFolder folder;
  const Transformer model =
      Transformer::load(test::write_golden_folder(golden, false, folder / "m"), at::kCPU, at::kDouble);
  PackedTokens tokens = pack_tokens(golden["ids"].get<std::vector<std::vector<int64_t>>>());
  const int64_t experts = model.spec().mixture->routing.count, chosen = model.spec().mixture->routing.chosen;
  std::vector<at::Tensor> of_mixtures;  // the formula of make_golden_model.py
  for (int64_t number = 0; number < choices_per_token(model.spec()) / chosen; ++number)
    of_mixtures.push_back((tokens.ids * 3 + tokens.positions + number).unsqueeze(1) + at::arange(chosen));
  tokens.routed_experts = at::cat(of_mixtures, 1).remainder(experts).to(at::kShort);
  for (int64_t b = 0; b < tokens.num_sequences(); ++b) tokens.routed_experts[tokens.cu_seqlens[b + 1] - 1].fill_(-1);
  tokens.token_weight = 1.0 / static_cast<double>(tokens.num_tokens());
  tokens = with_routers(tokens, model.spec(), {});
  const TokenLogProbs found = token_log_probs(model, tokens, 1.0, false);
  CHECK(worst(found.log_probs, tokens.cu_seqlens, expected["log_probs"].get<Rows>()) <= 5e-6);
  const std::vector<at::Tensor> sums = tokens.routers->sums();
  CHECK(sums.at(4).item<double>() == Approx(expected["otherwise"].get<double>()));
  CHECK(sums.at(5).item<double>() == Approx(1));
}

TEST_CASE("values and all gradients of tiny critics equal those of transformers", "[model]") {
  const auto name = GENERATE(from_range(test::kGoldenModels), from_range(test::kGoldenArchitectures),
                             from_range(test::kGoldenDeltaNets));
  INFO(name);
  const Json golden = read_golden(name), &expected = golden["critic"];
  if (expected.is_null()) return;  // transformers has no such model
  const TemporaryFolder folder;
  const ValueModel model =
      ValueModel::load(test::write_golden_folder(golden, true, folder / "m"), at::kCPU, at::kDouble)
          .for_length(test::golden_length(golden));
  const PackedTokens tokens = pack_tokens(golden["ids"].get<std::vector<std::vector<int64_t>>>());
  const at::Tensor values = model.values(tokens);
  CHECK(worst(values, tokens.cu_seqlens, expected["values"].get<Rows>()) <= 5e-6);
  (values * position_weights(tokens, false, at::cos)).sum().backward();
  check_gradients(model.parameters(), critic_parameters(model.spec()), expected["gradients"], 5e-6);
}

TEST_CASE("llama3's rotary frequencies equal those of transformers: kept, blended, slowed", "[model]") {
  const Rope rope = {.kind = RopeKind::kLlama3, .dim = 16, .factor = 8, .original_positions = 256};
  // modeling_rope_utils' "llama3"; the fourth wave, of 199 positions, lies between 256 / 4 and 256 / 1.
  const std::vector<double> expected{1.0,          0.31622776389, 0.1,      0.00661310693,
                                     0.0012499999, 0.00039528473, 0.000125, 0.000039528473};
  CHECK(at::allclose(inverse_frequencies(rope).to(at::kDouble), at::tensor(expected, at::kDouble), 1e-6, 0));
}

}  // namespace roll
