// Texts of multimodal folders beside what transformers says of them (golden_test.cpp): other parts, names of both
// versions of transformers, and what config.json may say.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "checkpoint/temporary_folder.h"
#include "model/golden.h"
#include "model/inspect.h"
#include "model/log_probs.h"
#include "model/model_folder.h"
#include "model/rewrite.h"
#include "model/transformer.h"
#include "model/value_model.h"

namespace roll {

using Catch::Contains;
using test::TemporaryFolder;

namespace {

at::Tensor text_log_probs(const std::filesystem::path& folder) {
  const at::NoGradGuard no_grad;
  return token_log_probs(Transformer::load(folder), pack_tokens({{7, 8, 9, 1, 3, 5, 60, 33, 21, 4, 4, 17}, {2, 5}}),
                         1.0, false)
      .log_probs;
}

/// Names of other parts' tensors by the golden file: as transformers' modules have them, and as other versions do.
struct OtherNames {
  const char *golden, *part, *older_part;
};
constexpr OtherNames kOtherNames[] = {
    {"gemma3_vision", "model.vision_tower.encoder.weight", "vision_tower.encoder.weight"},
    {"mistral3", "model.multi_modal_projector.norm.weight", "multi_modal_projector.norm.weight"},
    {"mistral3_ministral", "model.vision_tower.ln_pre.weight", "vision_tower.ln_pre.weight"},
    {"qwen2_5_vl", "model.visual.merger.mlp.0.bias", "visual.merger.mlp.0.bias"},
    {"qwen3_vl", "model.visual.pos_embed.weight", nullptr},
    {"qwen3_vl_moe", "model.visual.pos_embed.weight", nullptr},
    {"glm4v", "model.visual.pos_embed.weight", nullptr},
    {"glm4v_moe", "model.visual.pos_embed.weight", nullptr}};

/// Returns the name that the other version of transformers gives a tensor of the language model.
std::string older_name(const std::string& golden, const std::string& name) {
  const std::string text = "model.language_model.";
  const bool is_flat = golden == "qwen2_5_vl";
  if (name.starts_with(text)) return (is_flat ? "model." : "language_model.model.") + name.substr(text.size());
  return is_flat ? name : "language_model." + name;  // the head
}

NamedTensors whole_weights(const Json& golden, const OtherNames& names, bool is_older) {
  NamedTensors weights = test::golden_weights(golden, false);
  for (auto& [name, tensor] : weights)
    if (is_older) name = older_name(names.golden, name);
  at::manual_seed(3);
  weights.emplace_back(is_older ? names.older_part : names.part, at::randn({3, 5}).to(at::kBFloat16));
  return weights;
}

Json config_of(const std::string& name) {
  return test::read_golden(name)["config"];
}

}  // namespace

TEST_CASE("a multimodal folder is saved under the names that it has, with its other parts as they are", "[model]") {
  const OtherNames names = GENERATE(from_range(std::begin(kOtherNames), std::end(kOtherNames)));
  const bool is_older = GENERATE(false, true);
  if (is_older && !names.older_part) return;
  INFO(names.golden << (is_older ? ", older names" : ""));
  const Json golden = test::read_golden(names.golden);
  const NamedTensors weights = whole_weights(golden, names, is_older);
  const TemporaryFolder folder;
  test::write_golden_folder(golden, false, folder / "text");
  test::save_folder(folder / "m", golden["config"], weights, {});
  CHECK(at::equal(text_log_probs(folder / "m"), text_log_probs(folder / "text")));
  CHECK_THAT(inspect_folder(folder / "m").text, Contains("weights of other parts (vision, for example) are kept"));
  Transformer model = Transformer::load(folder / "m");
  {
    const at::NoGradGuard no_grad;
    for (auto& [parameter, tensor] : model.parameters()) tensor.mul_(1.25);
  }
  model.save(folder / "trained");
  rewrite_folder(folder / "m", folder / "again", {}, false);
  const HfFolder trained = HfFolder::open(folder / "trained"), again = HfFolder::open(folder / "again");
  REQUIRE(trained.entries().size() == weights.size());
  REQUIRE(again.entries().size() == weights.size());
  for (const auto& [name, tensor] : weights) {
    INFO(name);
    CHECK(at::equal(again.read(name), tensor));
    const bool is_other = &tensor == &weights.back().second;
    CHECK(at::equal(trained.read(name), is_other ? tensor : tensor * 1.25));
  }
  CHECK(again.find(weights.back().first)->dtype == at::kBFloat16);
}

TEST_CASE("a text of 16 bits stays so beside vision of 32", "[model]") {
  const Json golden = test::read_golden("gemma3_vision");
  NamedTensors weights = test::golden_weights(golden, false);
  for (auto& [name, tensor] : weights) tensor = tensor.to(at::kBFloat16);
  weights.emplace_back("model.vision_tower.encoder.weight", at::randn({3, 5}));
  const TemporaryFolder folder;
  test::save_folder(folder / "m", golden["config"], weights, {});
  rewrite_folder(folder / "m", folder / "again", {}, false);
  const HfFolder again = HfFolder::open(folder / "again");
  for (const auto& [name, tensor] : weights) {
    CHECK(again.find(name)->dtype == tensor.scalar_type());
    CHECK(at::equal(again.read(name), tensor));
  }
}

TEST_CASE("a critic of a multimodal folder keeps its names and its other parts", "[model]") {
  const Json golden = test::read_golden("gemma3_vision");
  const NamedTensors weights = whole_weights(golden, kOtherNames[0], true);
  const TemporaryFolder folder;
  test::save_folder(folder / "m", golden["config"], weights, {});
  ValueModel::load(folder / "m").save(folder / "critic");
  const HfFolder critic = HfFolder::open(folder / "critic");
  CHECK(critic.entries().size() == weights.size() + 2);
  for (const auto& [name, tensor] : weights) CHECK(at::equal(critic.read(name), tensor));
  CHECK_FALSE(has_value_head(folder / "m"));
  CHECK(has_value_head(folder / "critic"));
}

TEST_CASE("stacks of experts may be transposed, as on the hub, and are saved so", "[model]") {
  const Json golden = test::read_golden("qwen3_vl_moe");
  NamedTensors weights = test::golden_weights(golden, false);
  for (auto& [name, tensor] : weights)
    if (tensor.dim() == 3) tensor = tensor.transpose(1, 2).contiguous();
  const TemporaryFolder folder;
  test::write_golden_folder(golden, false, folder / "text");
  test::save_folder(folder / "m", golden["config"], weights, {});
  CHECK(at::equal(text_log_probs(folder / "m"), text_log_probs(folder / "text")));
  rewrite_folder(folder / "m", folder / "again", {}, false);
  const HfFolder again = HfFolder::open(folder / "again");
  for (const auto& [name, tensor] : weights) CHECK(at::equal(again.read(name), tensor));
  const Json gemma = test::read_golden("gemma4_mixture");  // transformers reads no transposed stacks of these
  weights = test::golden_weights(gemma, false);
  for (auto& [name, tensor] : weights)
    if (tensor.dim() == 3) tensor = tensor.transpose(1, 2).contiguous();
  test::save_folder(folder / "gemma", gemma["config"], weights, {});
  CHECK_THAT(test::message_of([&] { Transformer::load(folder / "gemma"); }),
             Contains("expected [6, 28, 24] by config.json, found [6, 24, 28]"));
}

TEST_CASE("Qwen2.5-VL's configuration may have no text_config, and names M-RoPE", "[model]") {
  Json flat = config_of("qwen2_5_vl");
  const ModelSpec nested = parse_spec(flat, "c");
  const Json text = flat["text_config"];
  flat.update(text);
  flat.erase("text_config");
  flat["model_type"] = "qwen2_5_vl";
  flat.erase("rope_parameters");
  flat["rope_theta"] = 1e6;
  flat["rope_scaling"] = {{"type", "mrope"}, {"mrope_section", {1, 1, 1}}};
  CHECK(parse_spec(flat, "c") == nested);
  flat["model_type"] = "qwen2";
  CHECK_THAT(test::message_of([&] { parse_spec(flat, "c"); }), Contains("type = \"mrope\": only default, linear"));
}

TEST_CASE("of Gemma 3 only what differs from its defaults must be written", "[model]") {
  // gemma-3-4b-it's, but for the vision
  const Json config = {{"model_type", "gemma3"},
                       {"text_config",
                        {{"model_type", "gemma3_text"},
                         {"hidden_size", 2560},
                         {"intermediate_size", 10240},
                         {"num_hidden_layers", 34},
                         {"rope_scaling", {{"factor", 8.0}, {"rope_type", "linear"}}},
                         {"sliding_window", 1024}}}};
  const ModelSpec spec = parse_spec(config, "c");
  CHECK(spec.num_parameters() == 3880263168);
  CHECK(spec.num_heads == 8);
  CHECK(spec.num_kv_heads == 4);
  CHECK(spec.max_positions == 131072);
  CHECK(spec.tied_head);
  CHECK(spec.window == 1024);
}

TEST_CASE("the type of a text chooses among the language models beside Pixtral", "[model]") {
  Json config = config_of("mistral3");
  CHECK(parse_spec(config, "c").architecture->text_row == "mistral");
  CHECK_FALSE(parse_spec(config, "c").tied_head);
  CHECK(parse_spec(config_of("mistral3_ministral"), "c").architecture->text_row == "ministral3");
  CHECK(parse_spec(config_of("mistral3_ministral"), "c").rope.query_growth == 0.1);
  config.erase("tie_word_embeddings");  // then the whole model is tied, whatever its text says
  config["text_config"]["tie_word_embeddings"] = false;
  CHECK(parse_spec(config, "c").tied_head);
  config["text_config"]["model_type"] = "qwen2";
  CHECK_THAT(test::message_of([&] { parse_spec(config, "c"); }),
             Contains("text_config: model_type = \"qwen2\": beside mistral3, only mistral, ministral3 is supported"));
}

}  // namespace roll
