// A new architecture is a row and nothing else: one of other names and with other defaults is added, and a folder of it
// is made, loaded, saved, shared by ranks and sampled as the model whose features it has.
#include "model/architectures.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/temporary_folder.h"
#include "dist/local_ranks.h"
#include "dist/mesh.h"
#include "model/init_spec.h"
#include "model/log_probs.h"
#include "model/mixers.h"
#include "model/rewrite.h"
#include "model/transformer.h"
#include "model/value_model.h"

namespace roll {

using test::TemporaryFolder;

namespace {

/// Qwen3's features under names of its own, with a tied head and small heads where config.json says nothing.
Architecture zephyr() {
  return {.name = "zephyr9",
          .causal_class = "ZephyrLM",
          .value_class = "ZephyrCritic",
          .qk_norm = true,
          .qkv_bias = Bias::kByConfig,
          .o_bias = Bias::kByConfig,
          .head_dim = 6,
          .tied_head = true,
          .weights = {.embedding = "trunk.words",
                      .final_norm = "trunk.last",
                      .lm_head = "predict",
                      .value_head = "worth",
                      .layer = "trunk.block.",
                      .before_attention = "before_attention",
                      .before_mlp = "before_mlp",
                      .q = "query",
                      .k = "key",
                      .v = "value",
                      .o = "mix",
                      .q_norm = "query_scale",
                      .k_norm = "key_scale",
                      .gate = "open",
                      .up = "widen",
                      .down = "narrow"}};
}

/// The program's rows and one more.
const Architectures& with_zephyr() {
  static const Architectures rows = [] {
    Architectures all = architectures();
    all.push_back(zephyr());
    return all;
  }();
  return rows;
}

Transformer load(const std::filesystem::path& folder, const ModelParallel& parallel = {}) {
  return Transformer::load(folder, at::kCPU, at::kFloat, parallel, with_zephyr());
}

ValueModel load_critic(const std::filesystem::path& folder) {
  return ValueModel::load(folder, at::kCPU, at::kFloat, {}, with_zephyr());
}

ModelSpec tiny_spec(const char* arch, bool tie = true) {
  InitSizes sizes;
  sizes.arch = arch;
  sizes.vocab = 71;
  sizes.hidden = 32;
  sizes.layers = 2;
  sizes.kv_heads = 2;
  sizes.head_dim = 6;
  sizes.tie = tie;
  ModelSpec spec = make_spec(sizes, {}, with_zephyr());
  spec.qkv_bias = spec.o_bias = true;  // attention_bias
  return spec;
}

Transformer enlarged_tiny(const char* arch, bool tie = true) {
  Transformer model = Transformer::init(tiny_spec(arch, tie), 5);
  const at::NoGradGuard no_grad;
  for (auto& [name, tensor] : model.parameters()) tensor.dim() == 2 ? tensor.mul_(8) : tensor.add_(0.25);
  return model;
}

PackedTokens sequences() {
  return pack_tokens({{3, 1, 4, 1, 5, 9, 2, 6}, {5, 3, 5, 8, 9, 7, 9, 3, 2, 3}});
}

at::Tensor log_probs(const Transformer& model) {
  const at::NoGradGuard no_grad;
  return token_log_probs(model, sequences(), 1.0, false).log_probs;
}

}  // namespace

TEST_CASE("a row is all that a new architecture needs to be loaded and saved", "[model]") {
  const TemporaryFolder folder;
  const bool tie = GENERATE(true, false);
  enlarged_tiny("zephyr9", tie).save(folder / "m");
  Json config = HfFolder::read_config(folder / "m");
  CHECK(config["architectures"] == Json({"ZephyrLM"}));
  CHECK(config["model_type"] == "zephyr9");
  config.erase("head_dim");
  if (tie) config.erase("tie_word_embeddings");
  write_file_atomic(folder / "m" / "config.json", config.dump());
  const Transformer model = load(folder / "m");
  CHECK(model.parameters().front().first == "trunk.words.weight");
  CHECK(model.spec().tied_head == tie);
  CHECK(at::equal(log_probs(model), log_probs(enlarged_tiny("qwen3", tie))));
  rewrite_folder(folder / "m", folder / "again", {}, false, with_zephyr());
  CHECK(at::equal(log_probs(load(folder / "again")), log_probs(model)));
}

TEST_CASE("a row is all that a new architecture's value model needs", "[model]") {
  const TemporaryFolder folder;
  enlarged_tiny("zephyr9", false).save(folder / "m");
  ValueModel critic = load_critic(folder / "m");
  CHECK(critic.parameters().back().first == "worth.bias");
  const at::NoGradGuard no_grad;
  for (auto& [name, tensor] : critic.parameters())
    if (name.starts_with("worth")) tensor.add_(0.5);
  critic.save(folder / "critic");
  CHECK(HfFolder::read_config(folder / "critic")["architectures"] == Json({"ZephyrCritic"}));
  rewrite_folder(folder / "critic", folder / "again", {}, false, with_zephyr());
  CHECK(at::equal(load_critic(folder / "again").values(sequences()), critic.values(sequences())));
}

TEST_CASE("a row is all that a new architecture needs to be shared by ranks", "[model]") {
  const TemporaryFolder folder;
  const Transformer whole = enlarged_tiny("zephyr9");
  whole.save(folder / "m");
  const at::Tensor expected = log_probs(whole);
  for (const auto& wrong : test::run_local_ranks(2, [&](Communicator& world) -> std::string {
         Mesh mesh(world, {.tp = 2});
         const Transformer part = load(folder / "m", {.tp = &mesh.tp()});
         if (part.parameters().front().second.size(0) == 71) return "the embedding is not cut";
         return at::allclose(log_probs(part), expected, 1e-4, 1e-5) ? "" : "other log-probs";
       }))
    CHECK(wrong == "");
}

TEST_CASE("a layer's kernels in training get none with features that they do not compute", "[model]") {
  std::vector<std::string> known;
  for (const Architecture& row : architectures()) {
    if (row.is_multimodal) continue;
    InitSizes sizes;
    sizes.arch = row.name;
    sizes.vocab = 64;
    const auto layers = make_spec(sizes, {}).layers();
    if (std::ranges::all_of(layers, has_layer_kernels)) known.push_back(row.name);
  }
  CHECK(known == std::vector<std::string>{"qwen2", "qwen3", "llama", "mistral", "ministral", "ministral3", "granite",
                                          "phi3", "qwen2_moe", "qwen3_moe", "seed_oss", "internlm3", "iquestcoder",
                                          "cwm", "mixtral", "granitemoe", "mellum", "dots1", "solar_open"});
}

TEST_CASE("the list of architectures follows the rows", "[model]") {
  const Architectures few = {architectures().begin(), architectures().begin() + 3};
  CHECK(architecture_list("or", few) == "qwen2, qwen3 or llama");
  CHECK(architecture_list("and", with_zephyr()).ends_with(architectures().back().name + " and zephyr9"));
  CHECK(&find_architecture("zephyr9", "x", with_zephyr()) == &with_zephyr().back());
  CHECK_THROWS_WITH(find_architecture("zephyr8", "x", with_zephyr()),
                    Catch::Contains("x = zephyr8: only qwen2, qwen3, llama, ") &&
                        Catch::Contains("and zephyr9 are supported; did you mean 'zephyr9'?"));
  CHECK_THROWS_AS(find_architecture("zephyr9", "x"), UserError);
}

}  // namespace roll
