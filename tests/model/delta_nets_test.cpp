// Models with gated delta nets beside what transformers says of them (golden_test.cpp): folders, other parts of these,
// prompts that are computed once, sequences beside each other.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <map>

#include "base/error.h"
#include "checkpoint/temporary_folder.h"
#include "dist/local_ranks.h"
#include "model/golden.h"
#include "model/init_spec.h"
#include "model/inspect.h"
#include "model/log_probs.h"
#include "model/model_folder.h"
#include "model/parallel_outcome.h"
#include "model/transformer.h"
#include "packing/alignment.h"

namespace roll {

using Catch::Contains;
using test::TemporaryFolder;

namespace {

at::Tensor log_probs(const Transformer& model, const PackedTokens& tokens) {
  const at::NoGradGuard no_grad;
  return token_log_probs(model, tokens, 1.0, false).log_probs;
}

std::vector<int64_t> ids(int64_t count, int64_t start) {
  std::vector<int64_t> found = test::some_ids(count, start);
  for (int64_t& id : found) id %= 61;
  return found;
}

PackedTokens some_sequences() {
  return pack_tokens({ids(70, 1), ids(2, 2), ids(33, 3)});
}

/// The text's weights under the names that they have beside a vision tower; experts are stacked there.
NamedTensors beside_vision(const NamedTensors& text) {
  NamedTensors found;
  std::map<std::string, std::vector<at::Tensor>> stacked;
  for (const auto& [name, tensor] : text) {
    const std::string there = name.starts_with("model.") ? "model.language_model." + name.substr(6) : name;
    const size_t at = there.find(".experts.");
    if (at == std::string::npos) {
      found.emplace_back(there, tensor);
      continue;
    }
    const bool is_down = there.ends_with("down_proj.weight");
    stacked[there.substr(0, at) + (is_down ? ".experts.down_proj" : ".experts.gate_up_proj")].push_back(tensor);
  }
  for (const auto& [name, parts] : stacked) {  // of few experts, so that names are in their order
    if (name.ends_with("down_proj")) {
      found.emplace_back(name, at::stack(parts));
      continue;
    }
    std::vector<at::Tensor> experts;
    for (size_t e = 0; e < parts.size(); e += 2) experts.push_back(at::cat({parts[e], parts[e + 1]}));
    found.emplace_back(name, at::stack(experts));
  }
  return found;
}

}  // namespace

TEST_CASE("a folder with gated delta nets is written as it was read", "[model]") {
  const Json golden = test::read_golden(GENERATE(from_range(test::kGoldenDeltaNets)));
  const TemporaryFolder folder;
  test::write_golden_folder(golden, false, folder / "m");
  Transformer::load(folder / "m").save(folder / "again");
  const HfFolder before = HfFolder::open(folder / "m"), after = HfFolder::open(folder / "again");
  REQUIRE(after.entries().size() == before.entries().size());
  for (const TensorEntry& entry : before.entries()) CHECK(at::equal(after.read(entry.name), before.read(entry.name)));
}

TEST_CASE("the text of a multimodal folder is trained, all else of it is kept", "[model]") {
  const std::string name = GENERATE("qwen3_5", "qwen3_5_moe");  // of goldens, and of model types
  const Json golden = test::read_golden(name);
  const TemporaryFolder folder;
  test::write_golden_folder(golden, false, folder / "text");
  const at::Tensor patch = at::randn({3, 5}).to(at::kBFloat16), further = at::randn({4});
  NamedTensors weights = beside_vision(test::golden_weights(golden, false));
  weights.emplace_back("model.visual.patch_embed.proj.weight", patch);
  weights.emplace_back("mtp.norm.weight", further);
  const Json config = {{"architectures", {"Qwen3_5ForConditionalGeneration"}},
                       {"model_type", name},
                       {"text_config", golden["config"]},
                       {"tie_word_embeddings", golden["config"].value("tie_word_embeddings", false)},
                       {"vision_config", {{"depth", 1}}}};
  test::save_folder(folder / "m", config, weights, {});
  Transformer model = Transformer::load(folder / "m");
  CHECK(at::equal(log_probs(model, some_sequences()), log_probs(Transformer::load(folder / "text"), some_sequences())));
  CHECK_THAT(inspect_folder(folder / "m").text, Contains("weights of other parts (vision, for example) are kept"));
  {
    const at::NoGradGuard no_grad;
    for (auto& [parameter, tensor] : model.parameters()) tensor.mul_(1.25);
  }
  model.save(folder / "trained");
  const HfFolder trained = HfFolder::open(folder / "trained");
  REQUIRE(trained.entries().size() == weights.size());
  for (const auto& [weight, tensor] : weights) {
    const bool is_other = weight.starts_with("model.visual.") || weight.starts_with("mtp.");
    const at::Tensor found = trained.read(weight);
    CHECK(found.scalar_type() == tensor.scalar_type());
    CHECK(at::equal(found, is_other ? tensor : tensor * 1.25));
  }
  CHECK(trained.config()["vision_config"] == config["vision_config"]);
  CHECK(at::equal(log_probs(Transformer::load(folder / "trained"), some_sequences()),
                  log_probs(model, some_sequences())));
}

TEST_CASE("prompts that are computed once leave states to each of their responses", "[model]") {
  const TemporaryFolder folder;
  test::write_golden_folder(test::read_golden("qwen3_next"), false, folder / "m");
  std::vector<std::vector<int64_t>> sequences;
  for (const int64_t salt : {3, 4, 5}) {
    std::vector<int64_t> sequence = ids(25, 1);
    for (const int64_t id : ids(6 * salt, salt)) sequence.push_back(id);
    sequences.push_back(sequence);
  }
  sequences.push_back(ids(9, 2));
  PackedTokens tokens = pack_tokens(sequences);
  const test::Outcome whole = test::policy_outcome(Transformer::load(folder / "m", at::kCPU, at::kDouble), {}, tokens);
  const auto shape = GENERATE(MeshShape{}, MeshShape{.cp = 2}, MeshShape{.tp = 2});
  tokens.tree = prefix_tree(tokens, sequence_alignment(shape.cp, shape.tp));
  REQUIRE_FALSE(tokens.tree.empty());
  for (const auto& wrong : test::run_local_ranks(static_cast<int>(shape.cp * shape.tp), [&](Communicator& world) {
         Mesh mesh(world, shape);
         const Transformer part = Transformer::load(folder / "m", at::kCPU, at::kDouble, test::parallel_of(mesh));
         return test::differences(part, test::policy_outcome(part, kEveryLayer, tokens), mesh, whole);
       }))
    REQUIRE(wrong == "");
}

TEST_CASE("sizes of delta nets that do not fit together are said", "[model]") {
  Json config = test::read_golden("qwen3_5")["config"];
  const auto wrong = [&](const char* key, const Json& value) {
    Json one = config;
    one[key] = value;
    return [one] { parse_spec(one, "config.json"); };
  };
  CHECK_THROWS_WITH(wrong("linear_num_key_heads", 3)(),
                    Contains("linear_num_key_heads = 3: must divide linear_num_value_heads (4)"));
  CHECK_THROWS_WITH(wrong("layer_types", Json({"linear_attention"}))(),
                    Contains("layer_types = [\"linear_attention\"]: a list of 2"));
  CHECK_THROWS_WITH(wrong("layer_types", Json({"linear_attention", "mamba"}))(), Contains("layer_types"));
  CHECK_THROWS_WITH(wrong("linear_conv_kernel_dim", 1)(),
                    Contains("linear_conv_kernel_dim = 1: a whole number of 2 to 64"));
  CHECK(tensor_parallel_rule(parse_spec(config, "x"), 4) == "must divide the 2 key heads of the model's delta nets");
  InitSizes sizes;
  sizes.arch = "qwen3_5";
  sizes.vocab = 64;
  CHECK_THROWS_WITH(make_spec(sizes, {}),
                    Contains("--arch = qwen3_5: has parts that init-model cannot make; use qwen3_5_text"));
}

}  // namespace roll
