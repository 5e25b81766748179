// Further architectures beside what transformers says of them (golden_test.cpp): folders, and what config.json may say.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "checkpoint/temporary_folder.h"
#include "model/golden.h"
#include "model/model_folder.h"
#include "model/rewrite.h"
#include "model/spec.h"

namespace roll {

using Catch::Contains;
using test::message_of;
using test::TemporaryFolder;

namespace {

Json config_with(const std::string& golden, const Json& changes) {
  Json config = test::read_golden(golden)["config"];
  config.update(changes);
  return config;
}

std::string refusal(const std::string& golden, const Json& changes) {
  return message_of([&] { parse_spec(config_with(golden, changes), "config.json"); });
}

}  // namespace

TEST_CASE("a folder that is not trained is written back as it is", "[model]") {
  const std::string name = GENERATE(from_range(test::kGoldenArchitectures));
  INFO(name);
  const TemporaryFolder folder;
  test::write_golden_folder(test::read_golden(name), false, folder / "m");
  rewrite_folder(folder / "m", folder / "again", {}, false);
  const HfFolder before = HfFolder::open(folder / "m"), after = HfFolder::open(folder / "again");
  REQUIRE(after.entries().size() == before.entries().size());
  for (const TensorEntry& entry : before.entries()) {
    CHECK(after.find(entry.name)->dtype == entry.dtype);
    CHECK(at::equal(after.read(entry.name), before.read(entry.name)));
  }
}

TEST_CASE("EXAONE's layers without a window have no RoPE, if there are windows", "[model]") {
  const ModelSpec windows = parse_spec(config_with("exaone4", Json::object()), "c");
  CHECK(windows.slides == std::vector<char>{1, 0});
  CHECK(windows.no_rope == std::vector<char>{0, 1});
  // EXAONE-4.0-32B writes the pattern as a text, too.
  CHECK(parse_spec(config_with("exaone4", {{"sliding_window_pattern", "LG"}}), "c") == windows);
  const Json full = {"full_attention", "full_attention"};
  const ModelSpec unused = parse_spec(config_with("exaone4", {{"layer_types", full}}), "c");
  CHECK(unused.slides.empty());
  CHECK(unused.no_rope == std::vector<char>{1, 1});
  CHECK(parse_spec(config_with("exaone4_no_window", Json::object()), "c").no_rope.empty());
}

TEST_CASE("dynamic RoPE with alpha is RoPE of a larger theta, in Hunyuan alone", "[model]") {
  const Json config = config_with("hunyuan_alpha", Json::object());
  const Rope rope = parse_spec(config, "c").rope;
  CHECK(rope.kind == RopeKind::kDefault);
  CHECK(rope.theta == Approx(1e4 * std::pow(50.0, 12.0 / 10)));
  Json llama = config;
  llama["model_type"] = "llama";
  CHECK(parse_spec(llama, "c").rope.kind == RopeKind::kDynamic);
  CHECK_THAT(refusal("hunyuan_alpha", {{"head_dim", 2}}), Contains("alpha = 50.0: needs heads of 4 elements or more"));
}

TEST_CASE("MiniMax's rotary_dim is the rotating part of a head", "[model]") {
  CHECK(parse_spec(config_with("minimax_m2", Json::object()), "c").rope.dim == 6);
  CHECK(parse_spec(config_with("minimax_m2", {{"rotary_dim", nullptr}}), "c").rope.dim == 12);
  CHECK_THAT(refusal("minimax_m2", {{"rotary_dim", 13}}), Contains("rotary_dim = 13: a whole number of 1 to 12"));
}

TEST_CASE("which layers have experts is read of their types, layers with late windows of their number", "[model]") {
  const ModelSpec mellum = parse_spec(config_with("mellum", Json::object()), "c");
  CHECK_FALSE(mellum.mixture->has_experts(0));
  CHECK(mellum.mixture->has_experts(1));
  CHECK_THAT(refusal("mellum", {{"mlp_layer_types", {"dense"}}}), Contains("a list of 2 types, sparse or dense"));
  CHECK_THAT(refusal("mellum", {{"mlp_layer_types", {"dense", "wide"}}}), Contains("a list of 2 types"));
  Json config = config_with("dots1", {{"layer_types", nullptr}});
  CHECK(parse_spec(config, "c").slides == std::vector<char>{0, 1});
  config.erase("max_window_layers");
  CHECK(parse_spec(config, "c").slides.empty());
}

TEST_CASE("windows lie in the layers that are marked; if none is, in none of Mellum's and all of Ministral's",
          "[model]") {
  CHECK(parse_spec(config_with("mellum", Json::object()), "c").slides == std::vector<char>{1, 0});
  CHECK(parse_spec(config_with("mellum", {{"layer_types", nullptr}}), "c").slides.empty());
  CHECK(parse_spec(config_with("ministral", Json::object()), "c").slides == std::vector<char>{1, 0});
  CHECK(parse_spec(config_with("ministral", {{"layer_types", nullptr}}), "c").slides == std::vector<char>{1, 1});
}

TEST_CASE("weights of experts are scaled to the sum 1 where norm_topk_prob does not count", "[model]") {
  for (const char* name : {"mixtral", "minimax_m2", "granitemoe"})
    CHECK(parse_spec(config_with(name, {{"norm_topk_prob", false}}), "c").mixture->routing.renormalises);
  CHECK_FALSE(parse_spec(config_with("flex_olmo", {{"norm_topk_prob", false}}), "c").mixture->routing.renormalises);
  Json vision = config_with("qwen3_vl_moe", Json::object());
  vision["text_config"]["norm_topk_prob"] = false;
  CHECK(parse_spec(vision, "c").mixture->routing.renormalises);
}

TEST_CASE("latent attention has its own sizes, scores and router rules, and refuses what they cannot be", "[model]") {
  const ModelSpec stretched = parse_spec(config_with("deepseek_v3_yarn", Json::object()), "c");
  CHECK(stretched.latent == LatentSpec{.latent_dim = 10, .key_dim = 8, .rotated_dim = 6, .value_dim = 16});
  CHECK(stretched.score_scale == Approx(std::pow(1 + 0.12 * std::log(4.0), 2) / std::sqrt(14.0)));
  CHECK_FALSE(stretched.rope.interleaved);
  CHECK(parse_spec(config_with("glm4_moe_lite", {{"mlp_layer_types", nullptr}}), "c").mixture->dense_layers ==
        std::vector<int64_t>{0});
  CHECK(parse_spec(config_with("deepseek_v3", {{"model_type", "kimi_k2"}}), "c").latent->query_dim == 14);
  CHECK_FALSE(parse_spec(config_with("deepseek_v2", {{"topk_method", "greedy"}}), "c").mixture->routing.groups > 1);
  CHECK_THAT(refusal("deepseek_v3", {{"num_key_value_heads", 2}}), Contains("must equal num_attention_heads (4)"));
  CHECK_THAT(refusal("deepseek_v3", {{"qk_rope_head_dim", 5}}), Contains("must be even"));
  CHECK_THAT(refusal("deepseek_v3", {{"n_group", nullptr}}), Contains("n_group = (absent): missing"));
  CHECK_THAT(refusal("deepseek_v2", {{"norm_topk_prob", true}}), Contains("only false is supported"));
  CHECK_THAT(refusal("deepseek_v3", {{"moe_layer_freq", 2}}), Contains("only 1 is supported"));
  CHECK_THAT(refusal("gpt_oss", {{"swiglu_limit", 6.0}}), Contains("only 7 is supported"));
  CHECK_THAT(refusal("gpt_oss", {{"hidden_act", "gelu_new"}}), Contains("only silu is supported"));
  CHECK_THAT(refusal("deepseek_v2", {{"mlp_bias", true}}), Contains("only false is supported"));
  CHECK_THAT(refusal("deepseek_v2", {{"topk_method", "noaux_tc"}}), Contains("only greedy and group_limited_greedy"));
  Json config = config_with("deepseek_v3", Json::object());
  config.erase("q_lora_rank");
  CHECK_THAT(message_of([&] { parse_spec(config, "c"); }), Contains("a whole number is needed, or null for none"));
}

TEST_CASE("what an architecture cannot do, or takes from unusual defaults, is refused by its key", "[model]") {
  CHECK_THAT(refusal("olmoe", {{"clip_qkv", 8.0}}),
             Contains("clip_qkv = 8.0: roll supports this architecture without"));
  CHECK(refusal("olmoe", {{"clip_qkv", nullptr}}) == "no exception");
  CHECK_THAT(refusal("cwm", {{"layer_types", nullptr}}),
             Contains("layer_types = (absent): missing; transformers would"));
  CHECK_THAT(refusal("cwm", {{"rope_parameters", nullptr}}), Contains("rope_parameters = (absent): missing"));
  CHECK_THAT(refusal("mixtral", {{"num_experts_per_tok", 9}}), Contains("must be at most num_local_experts (6)"));
  CHECK_THAT(refusal("mixtral", {{"hidden_act", "gelu_new"}}), Contains("only silu is supported in this architecture"));
}

TEST_CASE("dropout that released folders ask for is not applied, and a note says so", "[model]") {
  const TemporaryFolder folder;
  test::write_golden_folder(test::read_golden("seed_oss"), false, folder / "m");
  const std::vector<std::string> notes = folder_notes(folder / "m");
  REQUIRE(notes.size() == 2);
  CHECK_THAT(notes[0], Contains("attention_dropout = 0.1 is ignored"));
  CHECK_THAT(notes[1], Contains("residual_dropout = 0.1 is ignored"));
}

TEST_CASE("experts whose names PEFT would change have no adapters; attention beside them has", "[model]") {
  const std::string name = GENERATE("mixtral", "minimax_m2", "granitemoe");
  const ModelSpec spec = parse_spec(test::read_golden(name)["config"], "c");
  const auto adapted = [&](const std::vector<std::string>& targets) {
    return message_of([&] { with_adapters(spec, LoraSpec{.rank = 2, .alpha = 4, .targets = targets}, "m"); });
  };
  CHECK(adapted({"q_proj", "o_proj"}) == "no exception");
  CHECK_THAT(adapted({}), Contains("adapters of experts are not supported in " + spec.architecture->name));
}

}  // namespace roll
