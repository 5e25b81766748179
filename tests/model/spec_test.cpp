#include "model/spec.h"

#include <fmt/ranges.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/temporary_folder.h"
#include "model/init_spec.h"
#include "model/model_folder.h"

namespace roll {

using Catch::Contains;
using test::message_of;

namespace {

Json qwen2() {
  return {{"model_type", "qwen2"},       {"vocab_size", 100},       {"hidden_size", 32},
          {"intermediate_size", 64},     {"num_hidden_layers", 2},  {"num_attention_heads", 4},
          {"num_key_value_heads", 2},    {"rms_norm_eps", 1e-5},    {"max_position_embeddings", 512},
          {"tie_word_embeddings", true}, {"rope_theta", 1000000.0}, {"hidden_act", "silu"},
          {"use_sliding_window", false}, {"sliding_window", 4096},  {"max_window_layers", 28}};
}

/// Five layers, of which the second has experts.
Json qwen3_moe() {
  Json config = qwen2();
  config.update({{"model_type", "qwen3_moe"},
                 {"tie_word_embeddings", false},
                 {"num_hidden_layers", 5},
                 {"num_experts", 6},
                 {"num_experts_per_tok", 2},
                 {"moe_intermediate_size", 20},
                 {"norm_topk_prob", true},
                 {"decoder_sparse_step", 2},
                 {"mlp_only_layers", {3}}});
  return config;
}

/// The message for a config with one key changed (null removes it).
std::string refusal(const char* key, Json value) {
  Json config = qwen2();
  config[key] = std::move(value);
  return message_of([&] { parse_spec(config, "config.json"); });
}

}  // namespace

TEST_CASE("a Qwen2 config is read", "[model]") {
  const ModelSpec spec = parse_spec(qwen2(), "config.json");
  CHECK(spec.head_dim == 8);
  CHECK(spec.num_kv_heads == 2);
  CHECK(spec.rope.theta == 1e6);
  CHECK(spec.rms_norm_eps == 1e-5);
  CHECK((spec.tied_head && spec.qkv_bias && !spec.o_bias && !spec.qk_norm));
}

TEST_CASE("both spellings of rotary parameters mean the same", "[model]") {
  Json config = qwen2();
  config["model_type"] = "llama";
  config["rope_theta"] = 500000.0;
  config["rope_scaling"] = {{"rope_type", "llama3"},
                            {"factor", 8.0},
                            {"low_freq_factor", 1.0},
                            {"high_freq_factor", 4.0},
                            {"original_max_position_embeddings", 8192}};
  Json newer = config;
  newer["rope_parameters"] = newer["rope_scaling"];
  newer["rope_parameters"]["rope_theta"] = 500000.0;
  newer.erase("rope_scaling");
  newer.erase("rope_theta");
  for (const Json& one : {config, newer}) {
    const ModelSpec spec = parse_spec(one, "config.json");
    CHECK(spec.rope.theta == 500000.0);
    CHECK(spec.rope.kind == RopeKind::kLlama3);
    CHECK(spec.rope.factor == 8.0);
    CHECK(spec.rope.original_positions == 8192);
    CHECK_FALSE(spec.qkv_bias);
  }
}

TEST_CASE("what a spec writes, it reads back", "[model]") {
  for (const Architecture& row : architectures()) {
    if (row.is_multimodal) continue;  // of which only the text is made
    InitSizes sizes;
    sizes.arch = row.name;
    CAPTURE(row.name);
    sizes.vocab = 77;
    if (!row.has_latents) sizes.kv_heads = 2;
    sizes.head_dim = 24;
    const Json config = hf_config(make_spec(sizes, {}));
    CHECK(hf_config(parse_spec(config, "x")) == config);
  }
}

TEST_CASE("which layers have experts, and how these are chosen, is read, in both spellings of their number",
          "[model]") {
  Json config = qwen3_moe();
  config["num_local_experts"] = config["num_experts"];
  config.erase("num_experts");
  for (const Json& one : {qwen3_moe(), config}) {
    const ModelSpec spec = parse_spec(one, "config.json");
    REQUIRE(spec.mixture);
    CHECK((spec.mixture->routing.count == 6 && spec.mixture->routing.chosen == 2 && spec.mixture->inner == 20));
    CHECK((spec.mixture->routing.renormalises && spec.mixture->shared_inner == 0));
    std::vector<bool> has_experts;
    for (const Layer& layer : spec.layers()) has_experts.push_back(std::holds_alternative<Experts>(layer[1].mixer));
    // every second one, without the fourth
    CHECK((has_experts == std::vector<bool>{false, true, false, false, false}));
  }
}

TEST_CASE("projections are matrices of attention and MLPs, also of experts, but not of routers and heads", "[model]") {
  Json config = qwen3_moe();
  config.update({{"model_type", "qwen2_moe"}, {"num_experts", 2}, {"shared_expert_intermediate_size", 12}});
  std::vector<ParameterShape> all = policy_parameters(parse_spec(config, "config.json"));
  std::ranges::move(critic_parameters(parse_spec(qwen2(), "config.json")), std::back_inserter(all));
  for (const ParameterShape& parameter : all) {
    INFO(parameter.name);
    CHECK(parameter.is_projection == parameter.name.ends_with("_proj.weight"));
  }
  CHECK(std::ranges::count_if(all, &ParameterShape::is_projection) == 4 * 7 + 4 + 3 * 3 + 2 * 7);
}

TEST_CASE("what a mixture costs a token is its own experts' products", "[model]") {
  Json config = qwen3_moe();
  config["decoder_sparse_step"] = 1;
  config["mlp_only_layers"] = Json::array();
  const ModelSpec spec = parse_spec(config, "config.json");
  const int64_t attention = 32 * 8 * (4 + 2 + 2 + 4), router = 6 * 32, expert = 3 * 32 * 20;
  CHECK(layer_cost(spec.layers()).flops == Approx(2.0 * 5 * (attention + router + 2 * expert)));
  CHECK(spec.num_parameters() == 2 * 100 * 32 + 32 + 5 * (attention + router + 6 * expert + 2 * 32 + 2 * 8));
}

namespace {

Json glm4_moe() {
  return {{"model_type", "glm4_moe"},
          {"vocab_size", 100},
          {"hidden_size", 32},
          {"intermediate_size", 64},
          {"num_hidden_layers", 3},
          {"num_attention_heads", 4},
          {"max_position_embeddings", 9},
          {"n_routed_experts", 8},
          {"num_experts_per_tok", 3},
          {"moe_intermediate_size", 20},
          {"n_shared_experts", 2},
          {"n_group", 4},
          {"topk_group", 2},
          {"norm_topk_prob", false},
          {"routed_scaling_factor", 2.5},
          {"first_k_dense_replace", 2}};
}

}  // namespace

TEST_CASE("groups of experts, their bias and the first layers without are read and written", "[model]") {
  const ModelSpec spec = parse_spec(glm4_moe(), "config.json");
  const RoutingRule expected{
      .count = 8, .chosen = 3, .is_sigmoid = true, .groups = 4, .chosen_groups = 2, .scale = 2.5};
  REQUIRE(spec.mixture);
  CHECK(spec.mixture->routing == expected);
  CHECK(spec.mixture->shared_inner == 40);
  CHECK((!spec.mixture->has_experts(1) && spec.mixture->has_experts(2)));
  CHECK_FALSE(spec.qk_norm);
  CHECK(parse_spec(hf_config(spec), "config.json") == spec);
  const auto parameters = backbone_parameters(spec);
  const auto bias =
      std::ranges::find(parameters, "model.layers.2.mlp.gate.e_score_correction_bias", &ParameterShape::name);
  REQUIRE(bias != parameters.end());
  CHECK((bias->is_wide && bias->is_constant && bias->shape == std::vector<int64_t>{8}));
}

TEST_CASE("groups of experts that cannot be are refused", "[model]") {
  const auto refused = [](const char* key, Json value) {
    Json config = glm4_moe();
    config[key] = std::move(value);
    return message_of([&] { parse_spec(config, "config.json"); });
  };
  CHECK(refused("n_group", 3) == "config.json: n_group = 3: must divide n_routed_experts (8) into groups of 2 or more");
  CHECK(refused("n_group", 8) == "config.json: n_group = 8: must divide n_routed_experts (8) into groups of 2 or more");
  CHECK(refused("topk_group", 5) == "config.json: topk_group = 5: must be at most n_group (4)");
  CHECK(refused("topk_group", 1) ==
        "config.json: num_experts_per_tok = 3: must be at most the experts of topk_group groups (2)");
  CHECK_THAT(refused("n_routed_experts", nullptr), Contains("n_routed_experts: missing"));
  CHECK_THAT(refused("first_k_dense_replace", 4), Contains("first_k_dense_replace = 4: a whole number of 0 to 3"));
  CHECK_THAT(refused("routed_scaling_factor", 0), Contains("routed_scaling_factor = 0: a number above 0"));
}

TEST_CASE("a mixture that cannot be is refused", "[model]") {
  const auto refused = [](const char* key, Json value) {
    Json config = qwen3_moe();
    config[key] = std::move(value);
    return message_of([&] { parse_spec(config, "config.json"); });
  };
  CHECK(refused("num_experts", nullptr) == "config.json: num_experts: missing; a whole number of 1 to 8192 is needed");
  CHECK(refused("num_experts_per_tok", 7) == "config.json: num_experts_per_tok = 7: must be at most num_experts (6)");
  CHECK(refused("mlp_only_layers", {5}) ==
        "config.json: mlp_only_layers = [5]: a list of whole numbers below 5 is needed");
  CHECK(refused("mlp_only_layers", 1) == "config.json: mlp_only_layers = 1: a list of whole numbers below 5 is needed");
  CHECK_THAT(refused("decoder_sparse_step", 0), Contains("decoder_sparse_step = 0"));
  CHECK_THAT(refused("norm_topk_prob", 1), Contains("norm_topk_prob = 1: true or false is needed"));
  Json shared = qwen3_moe();
  shared["model_type"] = "qwen2_moe";
  CHECK_THAT(message_of([&] { parse_spec(shared, "config.json"); }),
             Contains("shared_expert_intermediate_size: missing"));
}

TEST_CASE("counts follow from a spec", "[model]") {
  const ModelSpec spec = parse_spec(qwen2(), "config.json");
  // embedding + 2 layers of (q, k, v with biases, o, three of the feed-forward, two norms) + norm
  const int64_t layer = 32 * 32 + 32 + 2 * (16 * 32 + 16) + 32 * 32 + 3 * 32 * 64 + 2 * 32;
  CHECK(spec.num_parameters() == 100 * 32 + 2 * layer + 32);
  const double linear = 2.0 * (2 * (32 * 32 * 2 + 2 * 16 * 32 + 3 * 32 * 64)), head = 2.0 * 100 * 32;
  CHECK(spec.forward_flops(10, 10) == (linear + head) * 10 + 2.0 * 2 * 32 * 100);
  CHECK(spec.forward_flops(10, 3) == linear * 10 + head * 3 + 2.0 * 2 * 32 * 100);
}

TEST_CASE("a config that would be computed wrongly is refused by key and value", "[model]") {
  CHECK_THAT(refusal("model_type", "qwen4"), Contains("model_type = qwen4") && Contains("did you mean 'qwen"));
  CHECK_THAT(refusal("model_type", "mamba"), Contains("only qwen2, qwen3, llama"));
  CHECK_THAT(refusal("model_type", nullptr), Contains("model_type: missing; only qwen2"));
  CHECK_THAT(refusal("model_type", 3), Contains("a string is needed"));
  CHECK_THAT(refusal("hidden_size", nullptr), Contains("config.json: hidden_size: missing; a whole number of 1 to"));
  CHECK_THAT(refusal("hidden_size", "big"), Contains("hidden_size = \"big\": a whole number"));
  CHECK_THAT(refusal("hidden_size", 33), Contains("must be divisible by num_attention_heads (4)"));
  CHECK_THAT(refusal("num_hidden_layers", 0), Contains("num_hidden_layers = 0"));
  CHECK_THAT(refusal("num_hidden_layers", 2.5), Contains("num_hidden_layers = 2.5"));
  CHECK_THAT(refusal("num_key_value_heads", 3), Contains("must divide num_attention_heads (4)"));
  CHECK_THAT(refusal("head_dim", 7), Contains("head_dim = 7: must be even"));
  CHECK_THAT(refusal("hidden_act", "gelu"), Contains("only silu and gelu_pytorch_tanh"));
  CHECK_THAT(refusal("rms_norm_eps", -1), Contains("a number above 0"));
  CHECK_THAT(refusal("rms_norm_eps", HUGE_VAL), Contains("rms_norm_eps = inf: a number above 0"));
  CHECK_THAT(refusal("rope_theta", NAN), Contains("rope_theta = nan: a number above 0"));
  CHECK(refusal("time_step_limit", {0.0, HUGE_VAL}) == "no exception");  // nothing here reads it
  CHECK_THAT(refusal("tie_word_embeddings", "yes"), Contains("true or false"));
  CHECK_THAT(refusal("attention_dropout", 0.1), Contains("only 0"));
  CHECK_THAT(refusal("quantization_config", {{"bits", 4}}), Contains("roll reads bitsandbytes, mxfp4 and fp8 only"));
  CHECK_THAT(refusal("rope_scaling", {{"type", "mrope"}, {"factor", 4}}),
             Contains("type = \"mrope\"") && Contains("llama3"));
  CHECK_THAT(refusal("rope_scaling", {{"rope_type", "llama3"}}),
             Contains("rope_scaling: factor: missing; a number above 0"));
  CHECK_THAT(refusal("rope_scaling", 8), Contains("rope_scaling = 8: an object"));
  CHECK_THAT(refusal("rope_parameters", {{"rope_theta", 0}}), Contains("rope_theta = 0"));
  CHECK_THAT(refusal("rope_parameters", {{"rope_type", "yarn"}, {"factor", 2}, {"partial_rotary_factor", 0.5}}),
             Contains("rope_type = \"yarn\": is not supported with partial_rotary_factor"));
  CHECK_THAT(refusal("layer_types", {"full_attention", "sliding_attention"}), Contains("sliding_window is not in use"));
  CHECK_THAT(refusal("layer_types", {"full_attention", "linear_attention"}), Contains("layer_types = "));
}

namespace {

/// The notes on a config of that architecture with these keys, of which `same` says whether they leave the model as it
/// was.
std::string idle_note(const char* architecture, const Json& keys, bool same = true) {
  Json config = qwen2();
  config.erase("sliding_window");
  config.erase("use_sliding_window");
  config["model_type"] = architecture;
  const ModelSpec plain = parse_spec(config, "c");
  config.update(keys);
  const ModelSpec spec = parse_spec(config, "c");
  CHECK((spec == plain) == same);
  return fmt::format("{}", fmt::join(ignored_keys(config, "c", spec), "\n"));
}

}  // namespace

TEST_CASE("a key that an architecture does not obey in transformers changes nothing, and a note says so", "[model]") {
  const Json half = {{"partial_rotary_factor", 0.5}};
  CHECK(idle_note("llama", half) ==
        "c: partial_rotary_factor = 0.5 is ignored, as in transformers: llama models do not have this option");
  CHECK_THAT(idle_note("qwen3", {{"rope_parameters", half}}), Contains("rope_parameters: partial_rotary_factor = 0.5"));
  CHECK(idle_note("glm", {{"partial_rotary_factor", 0.25}}, false).empty());
  CHECK(idle_note("llama", {{"partial_rotary_factor", 1.0}}).empty());
  CHECK_THAT(idle_note("llama", {{"hidden_activation", "gelu_pytorch_tanh"}}), Contains("hidden_activation = "));
  CHECK_THAT(idle_note("gemma2", {{"hidden_act", "silu"}}), Contains("hidden_act = \"silu\" is ignored"));
  CHECK(idle_note("gemma2", {{"hidden_activation", "silu"}, {"hidden_act", "silu"}}, false).empty());
  CHECK(idle_note("qwen2", {{"hidden_act", "swish"}}).empty());
  CHECK(idle_note("gemma", {{"hidden_act", "gelu_new"}}, false).empty());
  CHECK_THAT(idle_note("qwen2", {{"qkv_bias", false}}), Contains("qkv_bias = false is ignored"));
  CHECK_THAT(idle_note("qwen3", {{"use_qk_norm", false}}), Contains("use_qk_norm = false is ignored"));
  CHECK_THAT(idle_note("mistral", {{"attention_bias", true}}), Contains("attention_bias = true is ignored"));
  CHECK_THAT(idle_note("qwen2", {{"mlp_bias", true}}), Contains("mlp_bias = true is ignored"));
  CHECK_THAT(idle_note("gemma3_text", {{"attn_logit_softcapping", 0.5}}), Contains("attn_logit_softcapping = 0.5"));
  CHECK_THAT(idle_note("llama", {{"final_logit_softcapping", 3}}), Contains("final_logit_softcapping = 3"));
  CHECK_THAT(idle_note("llama", {{"use_bidirectional_attention", true}}), Contains("use_bidirectional_attention"));
  CHECK_THAT(idle_note("llama", {{"use_sliding_window", true}, {"sliding_window", 3}}), Contains("use_sliding_window"));
  CHECK_THAT(idle_note("glm4", {{"layer_types", {"sliding_attention", "full_attention"}}}), Contains("layer_types = "));
  CHECK_THAT(idle_note("olmo2", {{"residual_multiplier", 0.5}}), Contains("residual_multiplier = 0.5"));
  CHECK_THAT(
      idle_note("llama", {{"rope_scaling", {{"rope_type", "default"}}}, {"rope_parameters", {{"rope_theta", 9}}}}),
      Contains("rope_parameters is ignored"));
}

TEST_CASE("layers see a window where config.json says so", "[model]") {
  Json config = qwen2();
  const auto windows = [&] {
    std::vector<int64_t> found;
    for (const Layer& layer : parse_spec(config, "c").layers())
      found.push_back(std::get<Attention>(layer[0].mixer).window);
    return found;
  };
  CHECK((windows() == std::vector<int64_t>{0, 0}));
  config["use_sliding_window"] = true;
  CHECK((windows() == std::vector<int64_t>{0, 0}));  // max_window_layers 28 of 2: no layer slides
  config["max_window_layers"] = 1;
  CHECK((windows() == std::vector<int64_t>{0, 4096}));
  config["layer_types"] = {"sliding_attention", "full_attention"};
  CHECK((windows() == std::vector<int64_t>{4096, 0}));
  config.erase("layer_types");
  config["model_type"] = "mistral";
  CHECK((windows() == std::vector<int64_t>{4096, 4096}));
  config["layer_types"] = {"sliding_attention", "full_attention"};
  CHECK((windows() == std::vector<int64_t>{4096, 0}));
  config["layer_types"].push_back("full_attention");
  CHECK_THAT(message_of([&] { windows(); }), Contains("layer_types") && Contains("a list of 2 layer types"));
  config["model_type"] = "ministral3";
  config["rope_parameters"] = {{"rope_theta", 1e6}};
  CHECK((windows() == std::vector<int64_t>{4096, 4096}));
  config["model_type"] = "mistral";
  for (const char* key : {"layer_types", "rope_parameters"}) config.erase(key);
  config["sliding_window"] = nullptr;
  CHECK((windows() == std::vector<int64_t>{0, 0}));
  config.erase("sliding_window");
  CHECK((windows() == std::vector<int64_t>{4096, 4096}));  // of Mistral's first version, which says nothing
}

TEST_CASE("Ministral 3 says how its heads turn, and so do models of it that are made here", "[model]") {
  Json config = qwen2();
  config["model_type"] = "ministral3";
  CHECK_THAT(message_of([&] { parse_spec(config, "c"); }),
             Contains("rope_parameters = (absent): missing; transformers"));
  InitSizes sizes;
  sizes.arch = "ministral3";
  sizes.vocab = 77;
  CHECK(hf_config(make_spec(sizes, {}))["rope_parameters"]["rope_theta"] == sizes.rope_theta);
}

TEST_CASE("what transformers ignores of an architecture's rotations or activations is refused", "[model]") {
  const auto fault = [](const std::string& type, const Json& more) {
    Json config = qwen2();
    config["model_type"] = type;
    config.update(more);
    return message_of([&] { parse_spec(config, "c"); });
  };
  for (const char* type : {"gemma3_text", "olmo3"}) {
    CHECK_THAT(fault(type, {{"rope_parameters", {{"rope_theta", 1e4}}}}), Contains("names no layer type"));
    CHECK_THAT(fault(type, {{"rope_theta", 5e5}, {"rope_scaling", {{"type", "linear"}, {"factor", 2}}}}),
               Contains("call it rope_type"));
  }
  CHECK_THAT(fault("olmo3", {{"rope_theta", 1e4}}), Contains("in transformers 5 only to layers without a window"));
  for (const char* type : {"qwen3_next", "qwen3_5_text", "qwen2_moe", "glm4_moe"})
    CHECK_THAT(fault(type, {{"hidden_act", "gelu_pytorch_tanh"}}), Contains("only silu is supported in this"));
}

TEST_CASE("sizes that no model has are refused before anything is made of them", "[model]") {
  for (const char* key : {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
                          "num_key_value_heads", "max_position_embeddings", "head_dim"})
    for (const Json& value : {Json(4294967296), Json(UINT64_MAX), Json(1e300), Json(-1)})
      CHECK_THAT(refusal(key, value), Contains(fmt::format("{} = ", key)) && Contains("a whole number of 1 to"));
  Json config = qwen2();
  config["hidden_size"] = 1 << 20;
  config["vocab_size"] = 1 << 22;
  config["num_hidden_layers"] = 4096;
  config["intermediate_size"] = 1 << 22;
  CHECK_THAT(message_of([&] { parse_spec(config, "c"); }), Contains("describes a model of 7e+16 parameters"));
}

TEST_CASE("impossible sizes of a new model are refused by flag", "[model]") {
  const auto refused = [](void (*change)(InitSizes&), std::optional<int64_t> needed = 50) {
    InitSizes sizes;
    change(sizes);
    return message_of([&] { make_spec(sizes, needed); });
  };
  CHECK_THAT(refused([](InitSizes&) {}, {}), Contains("--vocab: is missing"));
  CHECK_THAT(refused([](InitSizes& s) { s.vocab = 49; }), Contains("--vocab = 49: the tokenizer needs at least 50"));
  CHECK_THAT(refused([](InitSizes& s) { s.heads = 3; }), Contains("--hidden = 128: must be divisible by --heads (3)"));
  CHECK_THAT(refused([](InitSizes& s) { s.heads = 0; }), Contains("heads = 0: must be in 1..16384"));
  CHECK_THAT(refused([](InitSizes& s) { s.kv_heads = 3; }), Contains("--kv-heads = 3: must divide --heads (4)"));
  CHECK_THAT(refused([](InitSizes& s) { s.head_dim = 5; }), Contains("--head-dim = 5"));
  CHECK_THAT(refused([](InitSizes& s) { s.layers = -1; }), Contains("layers = -1: must be in 1..4096"));
  CHECK_THAT(refused([](InitSizes& s) { s.rope_theta = 0; }), Contains("rope_theta = 0: must be above 0"));
  CHECK_THAT(refused([](InitSizes& s) { s.arch = "qwen"; }), Contains("--arch = qwen") && Contains("did you mean"));
}

}  // namespace roll
