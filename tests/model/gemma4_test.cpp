// Gemma 4 beside what transformers says of it (golden_test.cpp): folders, other parts of these, what config.json may
// say.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>

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
#include "ops/dropout.h"
#include "packing/alignment.h"

namespace roll {

using Catch::Contains;
using test::TemporaryFolder;

namespace {

at::Tensor text_log_probs(const Transformer& model) {
  const at::NoGradGuard no_grad;
  return token_log_probs(model, pack_tokens({{7, 8, 9, 1, 3, 5, 60, 33, 21, 4, 4, 17}, {2, 5}}), 1.0, false).log_probs;
}

Json gemma4_with(const Json& changes) {
  Json config = test::read_golden("gemma4")["config"];
  config.update(changes);
  return config;
}

}  // namespace

TEST_CASE("numbers that scale layers are not trained, and written back", "[model]") {
  const TemporaryFolder folder;
  test::write_golden_folder(test::read_golden("gemma4"), false, folder / "m");
  const Transformer model = Transformer::load(folder / "m");
  int64_t constant = 0;
  for (const auto& [name, tensor] : model.trained()) {
    CHECK(tensor.requires_grad() != name.ends_with(".layer_scalar"));
    constant += !tensor.requires_grad();
  }
  CHECK(constant == 3);
  model.save(folder / "again");
  const HfFolder before = HfFolder::open(folder / "m"), after = HfFolder::open(folder / "again");
  REQUIRE(after.entries().size() == before.entries().size());
  for (const TensorEntry& entry : before.entries()) CHECK(at::equal(after.read(entry.name), before.read(entry.name)));
}

TEST_CASE("the text of a folder with vision and audio is trained, all else of it is kept", "[model]") {
  const Json golden = test::read_golden("gemma4");
  const TemporaryFolder folder;
  test::write_golden_folder(golden, false, folder / "text");
  NamedTensors weights;
  for (const auto& [name, tensor] : test::golden_weights(golden, false))
    weights.emplace_back("model.language_model." + name.substr(6), tensor);
  const auto num_text = weights.size();
  for (const char* name :
       {"model.vision_tower.patch_embedder.input_proj.weight", "model.audio_tower.output_proj.bias",
        "model.embed_vision.embedding_projection.weight", "model.embed_audio.embedding_projection.weight"})
    weights.emplace_back(name, at::randn({3, 5}).to(at::kBFloat16));
  const Json config = {{"architectures", {"Gemma4ForConditionalGeneration"}},
                       {"model_type", "gemma4"},
                       {"text_config", golden["config"]},
                       {"vision_config", {{"hidden_size", 1}}}};
  test::save_folder(folder / "m", config, weights, {});
  Transformer model = Transformer::load(folder / "m");
  CHECK(at::equal(text_log_probs(model), text_log_probs(Transformer::load(folder / "text"))));
  const std::string said = inspect_folder(folder / "m").text;
  CHECK_THAT(said, Contains("weights of other parts (vision, for example) are kept"));
  CHECK_THAT(said, Contains("layers without a window: 4 query heads over 1 key/value heads of size 16, whose keys are "
                            "also their values"));
  CHECK_THAT(said, Contains("normed values, keys used as values, scaled layers"));
  {
    const at::NoGradGuard no_grad;
    for (auto& [parameter, tensor] : model.parameters()) tensor.mul_(1.25);
  }
  model.save(folder / "trained");
  const HfFolder trained = HfFolder::open(folder / "trained");
  REQUIRE(trained.entries().size() == weights.size());
  for (size_t i = 0; i < weights.size(); ++i)
    CHECK(at::equal(trained.read(weights[i].first), i < num_text ? weights[i].second * 1.25 : weights[i].second));
  CHECK(trained.config()["vision_config"] == config["vision_config"]);
}

TEST_CASE("what layers share is differentiated as well where they are computed again", "[model]") {
  const TemporaryFolder folder;
  test::write_golden_folder(test::read_golden("gemma4_inputs"), false, folder / "m");
  const PackedTokens tokens = pack_tokens({test::ids_below(61, 33), {2}, test::ids_below(61, 12)});
  const auto outcome = [&](const Recomputation& recompute) {
    return test::policy_outcome(Transformer::load(folder / "m", at::kCPU, at::kDouble), recompute, tokens);
  };
  const test::Outcome kept = outcome({});
  for (const Recomputation& recompute : {kEveryLayer, Recomputation{.layers = 4, .together = 3}}) {
    const test::Outcome again = outcome(recompute);
    for (size_t i = 0; i < kept.outputs.size(); ++i) CHECK(at::equal(again.outputs[i], kept.outputs[i]));
    for (size_t i = 0; i < kept.gradients.size(); ++i) {
      INFO(kept.gradients[i].first);
      CHECK(at::allclose(again.gradients[i].second, kept.gradients[i].second, 1e-11, 1e-13));
    }
  }
}

TEST_CASE("what layers share is shared out over ranks, with prompts that are computed once", "[model]") {
  const TemporaryFolder folder;
  test::write_golden_folder(test::read_golden(GENERATE("gemma4_inputs", "gemma4_mixture")), false, folder / "m");
  std::vector<std::vector<int64_t>> sequences;
  for (const int64_t count : {7, 12, 20}) {
    sequences.push_back(test::ids_below(61, 25));
    std::ranges::copy(test::ids_below(61, count), std::back_inserter(sequences.back()));
  }
  PackedTokens tokens = pack_tokens(sequences);
  const test::Outcome whole = test::policy_outcome(Transformer::load(folder / "m", at::kCPU, at::kDouble), {}, tokens);
  const auto shape = GENERATE(MeshShape{.cp = 2}, MeshShape{.tp = 2});
  tokens.tree = prefix_tree(tokens, sequence_alignment(shape.cp, shape.tp));
  REQUIRE_FALSE(tokens.tree.empty());
  for (const auto& wrong : test::run_local_ranks(2, [&](Communicator& world) {
         Mesh mesh(world, shape);
         const Transformer part = Transformer::load(folder / "m", at::kCPU, at::kDouble, test::parallel_of(mesh));
         return test::differences(part, test::policy_outcome(part, kEveryLayer, tokens), mesh, whole);
       }))
    CHECK(wrong == "");
}

TEST_CASE("adapters on what layers are given leave out the same inputs on tensor ranks", "[model]") {
  const TemporaryFolder folder;
  test::write_golden_folder(test::read_golden("gemma4_inputs"), false, folder / "m");
  const LoraSpec lora = {.rank = 2, .alpha = 4, .seed = 5, .dropout = 0.4};
  PackedTokens tokens = pack_tokens({test::ids_below(61, 33), test::ids_below(61, 12)});
  tokens.dropout_keys = dropout_keys(tokens.ids, tokens.cu_seqlens, /*seed=*/17, /*step=*/3);
  const auto load = [&](const ModelParallel& parallel) {
    return Transformer::load(folder / "m", at::kCPU, at::kDouble, parallel, architectures(), lora);
  };
  const test::Outcome whole = test::policy_outcome(load({}), {}, tokens);
  for (const auto& wrong : test::run_local_ranks(2, [&](Communicator& world) {
         Mesh mesh(world, {.tp = 2});
         const Transformer part = load(test::parallel_of(mesh));
         return test::differences(part, test::policy_outcome(part, {}, tokens), mesh, whole);
       }))
    CHECK(wrong == "");
}

TEST_CASE("layers that read the keys and values of others have no cache, and their weights are kept", "[model]") {
  const Json golden = test::read_golden("gemma4_inputs");
  const ModelSpec spec = parse_spec(golden["config"], "config.json");
  CHECK(layer_cost(spec.layers()).cached == 2 * (10 + 10 + 16));
  const ForwardFlops begins(spec, spec.layers(), /*has_begin=*/true, /*has_head=*/false);
  const ForwardFlops follows(spec, spec.layers(), /*has_begin=*/false, /*has_head=*/false);
  CHECK(begins(3, 0) - follows(3, 0) == 3.0 * 2 * 24 * 6 * spec.num_layers);
  const TemporaryFolder folder;
  NamedTensors weights = test::golden_weights(golden, false);
  const at::Tensor unread = at::randn({10, 24});
  weights.emplace_back("model.layers.3.self_attn.v_proj.weight", unread);
  test::save_folder(folder / "m", golden["config"], weights, {});
  Transformer::load(folder / "m").save(folder / "again");
  const HfFolder after = HfFolder::open(folder / "again");
  REQUIRE(after.entries().size() == weights.size());
  for (const auto& [name, tensor] : weights) CHECK(at::equal(after.read(name), tensor));
  weights.back().first = "model.layers.2.self_attn.v_proj.bias";
  test::save_folder(folder / "other", golden["config"], weights, {});
  CHECK_THROWS_WITH(Transformer::load(folder / "other"), Contains("model.layers.2.self_attn.v_proj.bias"));
}

TEST_CASE("what config.json says of Gemma 4 is honoured or refused", "[model]") {
  const auto parse = [](const Json& changes) { return parse_spec(gemma4_with(changes), "config.json"); };
  const ModelSpec spec = parse(Json::object());
  CHECK(spec.slides == std::vector<char>{1, 0, 0});
  CHECK(spec.full_heads == FullHeads{16, 1, true});
  CHECK(parse({{"attention_k_eq_v", false}}).full_heads == FullHeads{16, 2, false});  // as transformers reads it
  CHECK(parse({{"global_head_dim", nullptr}}).full_heads->head_dim == 512);
  const Json two = {{"head_dim", 12}, {"num_key_value_heads", 4}};
  CHECK(parse({{"per_layer_config", {{"1", two}, {"2", two}}}}).full_heads == FullHeads{12, 4, true});
  CHECK(parse({{"per_layer_config", Json::object()}}).full_heads == FullHeads{10, 2, true});
  CHECK_THROWS_WITH(parse({{"per_layer_config", {{"2", two}}}}), Contains("per_layer_config") && Contains("no others"));
  CHECK_THROWS_WITH(parse({{"per_layer_config", {{"1", two}, {"2", {{"head_dim", 14}}}}}}),
                    Contains("per_layer_config") && Contains("must have the same head_dim"));
  const Json wide = {{"intermediate_size", 12}};
  CHECK_THROWS_WITH(parse({{"per_layer_config", {{"1", wide}, {"2", wide}}}}),
                    Contains("per_layer_config: 1: intermediate_size = 12"));
  CHECK_THROWS_WITH(parse({{"global_head_dim", 15}}), Contains("global_head_dim = 15: must be even"));
  CHECK_THROWS_WITH(parse({{"num_global_key_value_heads", 3}}),
                    Contains("num_global_key_value_heads = 3: must divide"));
  CHECK_NOTHROW(parse({{"use_bidirectional_attention", "vision"}}));
  CHECK_THROWS_WITH(parse({{"use_bidirectional_attention", "all"}}), Contains("use_bidirectional_attention"));
  CHECK(parse({{"rope_theta", 3.0}}).rope.theta == spec.rope.theta);  // ignored, as transformers does
  CHECK_THROWS_WITH(parse({{"rope_parameters", {{"full_attention", {{"rope_type", "default"}}}}}}),
                    Contains("rope_parameters: sliding_attention"));
  const Json part = {{"rope_type", "default"}, {"rope_theta", 1e4}, {"partial_rotary_factor", 0.5}};
  CHECK_THROWS_WITH(parse({{"rope_parameters", {{"full_attention", part}, {"sliding_attention", part}}}}),
                    Contains("partial_rotary_factor = 0.5: needs rope_type = proportional"));
  const ModelSpec usual = parse({{"hidden_size_per_layer_input", nullptr}, {"vocab_size_per_layer_input", nullptr}});
  CHECK(usual.layer_inputs == LayerInputs{256, 262144});
  CHECK_THROWS_WITH(parse({{"hidden_size_per_layer_input", 6}, {"vocab_size_per_layer_input", 60}}),
                    Contains("vocab_size_per_layer_input = 60: must be at least vocab_size (61)"));
  CHECK_THROWS_WITH(parse({{"num_kv_shared_layers", 3}}),
                    Contains("num_kv_shared_layers = 3: a whole number of 0 to 2"));
  CHECK_THROWS_WITH(parse({{"num_kv_shared_layers", 2}}), Contains("num_kv_shared_layers = 2: leaves layer 1 without"));
  CHECK(parse({{"num_kv_shared_layers", 1}}).keyless_layers == 1);
  CHECK_THROWS_WITH(parse({{"enable_moe_block", true}}), Contains("num_experts: missing"));
  const Json experts = {{"enable_moe_block", true}, {"num_experts", 4}, {"moe_intermediate_size", 8}};
  CHECK_THROWS_WITH(parse(experts), Contains("top_k_experts: missing"));
  Json five = experts;
  five["top_k_experts"] = 5;
  CHECK_THROWS_WITH(parse(five), Contains("top_k_experts = 5: must be at most num_experts (4)"));
}

TEST_CASE("a new Gemma 4 is written as it is read", "[model]") {
  InitSizes sizes;
  sizes.arch = "gemma4_text";
  sizes.vocab = 64;
  sizes.head_dim = 8;
  sizes.layers = 7;
  const ModelSpec made = make_spec(sizes, {}), read = parse_spec(hf_config(made), "config.json");
  CHECK(read.full_heads == FullHeads{16, 4, true});
  CHECK(read.full_heads == made.full_heads);
  CHECK(read.slides == made.slides);
  CHECK(read.slides == std::vector<char>{1, 1, 1, 1, 1, 0, 0});
  CHECK((read.ropes() == made.ropes()));
  CHECK(read.num_parameters() == made.num_parameters());
  sizes.experts = 6;
  CHECK(parse_spec(hf_config(make_spec(sizes, {})), "config.json").mixture->routing.count == 6);
}

TEST_CASE("a new Gemma 4 may have layers that are given inputs and read keys of others, as E2B", "[model]") {
  InitSizes sizes;
  sizes.arch = "gemma4_text";
  sizes.vocab = 64;
  sizes.layer_input = 6;
  sizes.keyless_layers = 3;
  sizes.layers = 5;
  const ModelSpec made = make_spec(sizes, {}), read = parse_spec(hf_config(made), "config.json");
  CHECK(read.layer_inputs == LayerInputs{6, 64});
  CHECK(read.keyless_layers == 3);
  CHECK(read.widens_keyless);
  CHECK(read.slides == std::vector<char>{1, 0, 1, 0, 0});
  CHECK(read.num_parameters() == made.num_parameters());
  sizes.keyless_layers = 4;
  CHECK_THROWS_WITH(make_spec(sizes, {}), Contains("--keyless-layers = 4: must leave at least 2 of --layers (5)"));
  sizes.arch = "qwen3";
  CHECK_THROWS_WITH(make_spec(sizes, {}), Contains("--arch = qwen3: has no per-layer inputs and no keyless layers"));
}

}  // namespace roll
