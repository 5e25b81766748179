// LongRoPE: which of its two lists turns the heads of a run, by the run's longest sequence.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "checkpoint/temporary_folder.h"
#include "model/golden.h"
#include "model/log_probs.h"
#include "model/some_ids.h"
#include "model/transformer.h"
#include "model/value_model.h"

namespace roll {

using Catch::Contains;
using test::message_of;

namespace {

/// 256 positions, of which the original context has 16.
Json longrope_config() {
  return test::read_golden("phi3_longrope_beyond")["config"];
}

ModelSpec longrope() {
  return parse_spec(longrope_config(), "config.json");
}

/// The message where a key of the rotations is another.
std::string refusal(const char* key, const Json& value) {
  Json config = longrope_config();
  config["rope_parameters"][key] = value;
  return message_of([&] { parse_spec(config, "config.json"); });
}

std::vector<double> factors(const ModelSpec& spec) {
  const at::Tensor plain = inverse_frequencies({.dim = spec.ropes()[0].dim});
  const at::Tensor found = (plain / inverse_frequencies(spec.ropes()[0])).to(at::kDouble);
  std::vector<double> all;
  for (int64_t i = 0; i < found.size(0); ++i) all.push_back(std::round(1e4 * found[i].item<double>()) / 1e4);
  return all;
}

}  // namespace

TEST_CASE("a run takes one of LongRoPE's lists for all its tokens, by its longest sequence", "[model]") {
  const std::vector<double> short_factor = {1, 1.2, 1.5}, long_factor = {1.3, 4.7, 12};
  const ModelSpec folder = longrope();
  CHECK(folder.max_positions == 16);
  CHECK(folder.most_positions() == 256);
  CHECK(factors(folder) == short_factor);
  CHECK(for_length(folder, 16) == folder);
  for (const int64_t longest : {17, 256, 300}) {
    const ModelSpec spec = for_length(folder, longest);
    CHECK(spec.max_positions == 256);
    CHECK(factors(spec) == long_factor);
    CHECK(spec.rope.attention_factor == folder.rope.attention_factor);
    CHECK(for_length(spec, spec.max_positions) == spec);
  }
}

TEST_CASE("no other rotations depend on how long sequences are", "[model]") {
  const auto name = GENERATE("llama_dynamic", "ministral3_yarn", "gemma3", "llama3_scaled");
  const ModelSpec spec = parse_spec(test::read_golden(name)["config"], name);
  CHECK(spec.max_positions == 256);
  CHECK(for_length(spec, 10000) == spec);
}

TEST_CASE("both lists and the whole context are written, whatever a run takes", "[model]") {
  for (const int64_t longest : {16, 17}) {
    const Json written = hf_config(for_length(longrope(), longest));
    CHECK(written["max_position_embeddings"] == 256);
    CHECK(parse_spec(written, "written").rope == longrope().rope);
    CHECK(parse_spec(written, "written").max_positions == 16);
  }
}

TEST_CASE("beyond the original context the long list turns short sequences too", "[model]") {
  const at::NoGradGuard no_grad;
  const test::TemporaryFolder folder;
  Json golden = test::read_golden("phi3_longrope_beyond");
  const auto short_of = [&](const Transformer& model) {
    return token_log_probs(model, pack_tokens({test::ids_below(61, 5), test::ids_below(61, 12)}), 1, false).log_probs;
  };
  const Transformer model = Transformer::load(test::write_golden_folder(golden, false, folder / "m"));
  const double attention_factor = model.spec().rope.attention_factor;
  Json& rope = golden["config"]["rope_parameters"];
  rope["short_factor"] = rope["long_factor"];
  rope["attention_factor"] = attention_factor;
  const Transformer slowed = Transformer::load(test::write_golden_folder(golden, false, folder / "slowed"));
  CHECK(at::equal(short_of(model.for_length(17)), short_of(slowed)));
  CHECK_FALSE(at::equal(short_of(model.for_length(16)), short_of(slowed)));
  const Transformer other = model.for_length(17);
  CHECK(other.parameters()[0].second.is_same(model.parameters()[0].second));
}

TEST_CASE("what LongRoPE would compute otherwise is refused", "[model]") {
  CHECK_THAT(refusal("long_factor", {1.3, 4.7}), Contains("long_factor"));
  CHECK_THAT(refusal("long_factor", nullptr), Contains("long_factor"));
  CHECK_THAT(refusal("long_factor", {1.3, 1e-320, 12}), Contains("not finite"));
  CHECK_THAT(refusal("long_mscale", 1.5), Contains("long_mscale = 1.5: only the attention_factor, 1.414214"));
  CHECK_THAT(refusal("short_mscale", 1.5), Contains("short_mscale = 1.5"));
  Json gemma = test::read_golden("gemma3")["config"];
  gemma["rope_parameters"]["sliding_attention"] = {{"rope_type", "longrope"},
                                                   {"short_factor", Json::array({1, 1, 1, 1, 1, 1, 1})},
                                                   {"long_factor", Json::array({2, 2, 2, 2, 2, 2, 2})},
                                                   {"original_max_position_embeddings", 16}};
  CHECK_THAT(message_of([&] { parse_spec(gemma, "config.json"); }),
             Contains("longrope is supported if all layers use it"));
}

}  // namespace roll
