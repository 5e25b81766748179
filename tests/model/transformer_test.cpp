#include "model/transformer.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <sstream>

#include "base/error.h"
#include "checkpoint/save_folder.h"
#include "checkpoint/temporary_folder.h"
#include "model/golden.h"
#include "model/id_rows.h"
#include "model/init_spec.h"
#include "model/log_probs.h"
#include "model/model_folder.h"
#include "model/some_ids.h"
#include "model/value_model.h"

namespace roll {

using Catch::Contains;
using test::message_of;
using test::save_folder;
using test::some_ids;
using test::TemporaryFolder;

namespace {

Transformer tiny(const char* arch = "qwen2", bool tie = true, uint64_t seed = 1, int64_t layers = 2) {
  InitSizes sizes;
  sizes.arch = arch;
  sizes.tie = tie;
  sizes.vocab = 71;
  sizes.hidden = 32;
  sizes.layers = layers;
  sizes.kv_heads = 2;
  Transformer model = Transformer::init(make_spec(sizes, {}), seed);
  const at::NoGradGuard no_grad;
  for (auto& named : model.parameters())
    if (named.second.dim() == 2) named.second.mul_(8);  // far from uniform predictions
  return model;
}

std::vector<at::Tensor> gradients(const Transformer& model, const PackedTokens& tokens,
                                  const Recomputation& recompute) {
  const TokenLogProbs y = token_log_probs(model, tokens, 0.9, true, recompute);
  (y.log_probs * at::linspace(-1, 1, tokens.num_tokens()) + y.entropy).sum().backward();
  std::vector<at::Tensor> found = {y.log_probs.detach()};
  for (const auto& named : model.parameters()) {
    found.push_back(named.second.grad().clone());
    named.second.mutable_grad() = at::Tensor();
  }
  return found;
}

}  // namespace

TEST_CASE("a sequence's results do not depend on its neighbours' content, to the bit", "[model]") {
  const at::NoGradGuard no_grad;
  const Transformer model = tiny();
  const auto middle = some_ids(20, 3);
  const PackedTokens a = pack_tokens({some_ids(33, 1), middle, some_ids(9, 2)});
  const PackedTokens b = pack_tokens({some_ids(33, 8), middle, some_ids(9, 9)});
  const at::Tensor x = model.forward(a).slice(0, 33, 53), y = model.forward(b).slice(0, 33, 53);
  CHECK(at::equal(x, y));
  const at::Tensor alone = model.forward(pack_tokens({middle}));
  CHECK(at::allclose(x, alone, 1e-5, 1e-5));
}

TEST_CASE("recomputation of any layers gives the same gradients to the bit", "[model]") {
  for (const char* arch : {"qwen2", "qwen3", "llama"}) {
    const Transformer model = tiny(arch, true, 1, 4);
    const PackedTokens tokens = pack_tokens({some_ids(33, 1), some_ids(70, 3)});
    const auto plain = gradients(model, tokens, {});
    for (const Recomputation& some :
         {kEveryLayer, Recomputation{.layers = 1}, Recomputation{.layers = 3, .together = 2}}) {
      CAPTURE(arch, some.layers, some.together);
      const auto found = gradients(model, tokens, some);
      for (size_t i = 0; i < plain.size(); ++i) CHECK(at::equal(plain[i], found[i]));
    }
  }
}

TEST_CASE("only wanted positions are computed; the others are 0", "[model]") {
  const Transformer model = tiny();
  const PackedTokens tokens = pack_tokens({some_ids(10, 1), some_ids(6, 3)});
  const at::Tensor wanted = tokens.positions.ge(4);
  const TokenLogProbs all = token_log_probs(model, tokens, 1.0, true);
  const TokenLogProbs some = token_log_probs(model, tokens, 1.0, true, {}, wanted);
  CHECK(at::allclose(some.log_probs, all.log_probs * wanted, 1e-6, 1e-6));
  CHECK(at::allclose(some.entropy, all.entropy * wanted, 1e-6, 1e-6));
  CHECK((some.log_probs == 0).sum().item<int64_t>() == 4 + 4 + 2);  // positions 0-3 twice, and each last index
  CHECK(all.log_probs[9].item<float>() == 0);
  CHECK(all.log_probs[15].item<float>() == 0);
}

TEST_CASE("a saved model loads with the same weights, sharded or not, tied or not", "[model]") {
  const bool tie = GENERATE(true, false);
  const int64_t shard = GENERATE(5000, 1000000);
  const TemporaryFolder folder;
  const Transformer model = tiny("qwen3", tie);
  HfSaveOptions options;
  options.max_shard_bytes = shard;
  model.save(folder / "m", options);
  const Transformer again = Transformer::load(folder / "m");
  REQUIRE(again.parameters().size() == model.parameters().size());
  for (size_t i = 0; i < model.parameters().size(); ++i) {
    CHECK(again.parameters()[i].first == model.parameters()[i].first);
    CHECK(at::equal(again.parameters()[i].second, model.parameters()[i].second));
    CHECK((again.parameters()[i].second.is_leaf() && again.parameters()[i].second.requires_grad()));
  }
}

TEST_CASE("initial weights are named by seed: the same each time, and the documented ones", "[model]") {
  InitSizes sizes;
  sizes.vocab = 1000;
  const Transformer model = Transformer::init(make_spec(sizes, {}), 7);
  const Transformer again = Transformer::init(make_spec(sizes, {}), 7),
                    other = Transformer::init(make_spec(sizes, {}), 8);
  for (const auto& [name, tensor] : model.parameters()) {
    INFO(name);
    if (tensor.dim() != 2) continue;
    CHECK(std::abs(tensor.std().item<double>() - 0.02) < 0.0005);
    CHECK(std::abs(tensor.mean().item<double>()) < 0.0005);
  }
  for (size_t i = 0; i < model.parameters().size(); ++i) {
    const auto& [name, tensor] = model.parameters()[i];
    CHECK(at::equal(tensor, again.parameters()[i].second));
    if (tensor.dim() == 2) CHECK_FALSE(at::equal(tensor, other.parameters()[i].second));
  }
  CHECK_FALSE(at::equal(model.parameters()[1].second, model.parameters()[7].second));
}

TEST_CASE("a folder whose tensors disagree with its config is refused by tensor", "[model]") {
  const TemporaryFolder folder;
  const Transformer model = tiny("qwen2", false);
  const auto refusal = [&](auto change) {
    NamedTensors tensors = model.parameters();
    Json config = hf_config(model.spec());
    change(tensors, config);
    save_folder(folder / "m", config, tensors, {});
    return message_of([&] { Transformer::load(folder / "m"); });
  };
  CHECK(refusal([](NamedTensors&, Json&) {}) == "no exception");
  CHECK_THAT(refusal([](NamedTensors& t, Json&) { t.erase(t.begin() + 3); }),
             Contains("model.layers.0.self_attn.k_proj.weight: is missing; expected [16, 32]"));
  CHECK_THAT(refusal([](NamedTensors& t, Json&) {
               t[1].second = at::ones({32, 31});
             }),
             Contains("model.layers.0.self_attn.q_proj.weight: expected [32, 32] by config.json, found [32, 31]"));
  CHECK_THAT(refusal([](NamedTensors& t, Json&) { t[1].second = t[1].second.to(at::kInt); }), Contains("dtype = I32"));
  CHECK_THAT(
      refusal([](NamedTensors& t, Json&) { t.emplace_back("model.layers.0.mlp.up_proj.bias", at::ones({128})); }),
      Contains("model.layers.0.mlp.up_proj.bias [128]: config.json describes a model without this tensor"));
  CHECK_THAT(refusal([](NamedTensors&, Json& c) { c["num_hidden_layers"] = 1; }), Contains("model.layers.1."));
  CHECK_THAT(refusal([](NamedTensors&, Json& c) { c["vocab_size"] = 72; }),
             Contains("model.embed_tokens.weight: expected [72, 32]"));
  CHECK(refusal([](NamedTensors& t, Json&) {
          t.emplace_back("model.layers.0.self_attn.rotary_emb.inv_freq", at::ones({4}));
        }) == "no exception");
}

TEST_CASE("a tied model that was stored with an equal head is read", "[model]") {
  const TemporaryFolder folder;
  const Transformer model = tiny("qwen2", true);
  NamedTensors tensors = model.parameters();
  tensors.emplace_back("lm_head.weight", tensors[0].second);
  save_folder(folder / "m", hf_config(model.spec()), tensors, {});
  CHECK(Transformer::load(folder / "m").parameters().size() == model.parameters().size());
  CHECK(folder_notes(folder / "m").empty());
}

TEST_CASE("a head that differs from the embedding is a head of its own, whatever config.json says", "[model]") {
  const TemporaryFolder folder;
  const Transformer model = tiny("qwen2", false);
  Json config = hf_config(model.spec());
  save_folder(folder / "untied", config, model.parameters(), {});
  config["tie_word_embeddings"] = true;
  save_folder(folder / "m", config, model.parameters(), {});
  const Transformer read = Transformer::load(folder / "m");
  const PackedTokens tokens = pack_tokens({some_ids(9, 1)});
  CHECK(at::equal(token_log_probs(read, tokens, 1.0, false).log_probs,
                  token_log_probs(Transformer::load(folder / "untied"), tokens, 1.0, false).log_probs));
  REQUIRE(folder_notes(folder / "m").size() == 1);
  CHECK_THAT(folder_notes(folder / "m")[0], Contains("m/model.safetensors: lm_head.weight differs from the embedding"));
  read.save(folder / "saved");
  CHECK(read_json(folder / "saved" / "config.json")["tie_word_embeddings"] == false);
  CHECK(folder_notes(folder / "saved").empty());
  config["text_config"] = {{"tie_word_embeddings", true}};  // as those have it that describe other models, too
  save_folder(folder / "more", config, model.parameters(), {});
  const Json untied = make_hf_config(HfFolder::open(folder / "more"), read.spec());
  CHECK(untied["tie_word_embeddings"] == false);
  CHECK(untied["text_config"]["tie_word_embeddings"] == false);
  std::filesystem::remove(folder / "m" / "model.safetensors");
  CHECK(read_spec(folder / "m").tied_head);  // who reads the weights says that they are not there
}

TEST_CASE("a value model starts at zero from a language model, and survives saving", "[model]") {
  const TemporaryFolder folder;
  tiny("llama", false).save(folder / "lm");
  ValueModel critic = ValueModel::load(folder / "lm");
  const PackedTokens tokens = pack_tokens({some_ids(7, 1), some_ids(3, 2)});
  CHECK(at::equal(critic.values(tokens).detach(), at::zeros({10})));
  critic.values(tokens).sum().backward();
  CHECK(critic.parameters().back().first == "score.bias");
  CHECK(critic.parameters().back().second.grad().item<float>() == 10);
  {
    const at::NoGradGuard no_grad;
    for (auto& named : critic.parameters()) named.second.add_(0.25);
  }
  critic.save(folder / "critic");
  const ValueModel again = ValueModel::load(folder / "critic");
  CHECK(at::equal(again.values(tokens), critic.values(tokens)));
  CHECK(HfFolder::read_config(folder / "critic")["architectures"] == Json({"LlamaForTokenClassification"}));
  CHECK_THAT(message_of([&] { Transformer::load(folder / "critic"); }), Contains("lm_head.weight: is missing"));
}

TEST_CASE("values are products in float32, also of a model in 16 bits", "[model]") {
  const auto dtype = GENERATE(at::kBFloat16, at::kHalf, at::kFloat, at::kDouble);
  const at::Tensor hidden = at::linspace(-2, 3, 40 * 64, at::kDouble).sin().view({40, 64}).to(dtype).requires_grad_();
  const at::Tensor weight = at::linspace(-1, 1, 64, at::kDouble).view({1, 64}).to(dtype).requires_grad_();
  const at::Tensor bias = at::full({1}, 7.25, hidden.options());
  const at::Tensor values = compute_values(hidden, weight, bias);
  CHECK(values.scalar_type() == (dtype == at::kDouble ? at::kDouble : at::kFloat));
  CHECK((values.dim() == 1 && values.size(0) == 40));
  const at::Tensor exact = at::mv(hidden.to(at::kDouble), weight.to(at::kDouble)[0]) + 7.25;
  CHECK((values - exact).abs().max().item<double>() < 1e-4);
  values.sum().backward();
  CHECK(weight.grad().scalar_type() == dtype);
  CHECK(at::allclose(weight.grad()[0], hidden.detach().sum(0), 1e-2, 1e-2));
}

TEST_CASE("rows of ids become rows of log-probs whatever the batch", "[model]") {
  const Transformer model = tiny();
  const std::string input = "{\"ids\":[3]}\n\n{\"ids\":[1,2,3,4,5]}\n{\"ids\":[70,0]}\n";
  const auto run = [&](int64_t max_tokens) {
    std::istringstream in(input);
    std::ostringstream out;
    write_log_probs(model, in, "rows", out, {.with_entropy = true, .max_tokens_per_batch = max_tokens});
    std::vector<Json> lines;
    std::istringstream back(out.str());
    for_each_json_line(back, "out", [&](int64_t, const Json& line) { lines.push_back(line); });
    return lines;
  };
  const auto together = run(1000), single = run(1);
  REQUIRE(together.size() == 3);
  CHECK(together[0] == Json({{"log_probs", Json::array()}, {"entropy", Json::array()}}));
  CHECK(together[1]["log_probs"].size() == 4);
  for (size_t i = 0; i < 4; ++i)
    CHECK(single[1]["log_probs"][i].get<double>() == Approx(together[1]["log_probs"][i].get<double>()).margin(1e-5));
}

TEST_CASE("ids that are none are refused by row and place", "[model]") {
  const auto refusal = [](const std::string& row) {
    return message_of([&] { parse_ids(parse_json(row, "r"), "rows:3", 71); });
  };
  CHECK_THAT(refusal(R"({"id":[1]})"), Contains("rows:3: ids: is missing"));
  CHECK_THAT(refusal(R"({"ids":"1 2"})"), Contains("ids: string where a list"));
  CHECK_THAT(refusal(R"({"ids":[]})"), Contains("ids = []: at least one token"));
  CHECK_THAT(refusal(R"({"ids":[1,71]})"), Contains("ids[1] = 71: a whole number from 0 to 70"));
  CHECK_THAT(refusal(R"({"ids":[-1]})"), Contains("ids[0] = -1"));
  CHECK_THAT(refusal(R"({"ids":[1.5]})"), Contains("ids[0] = 1.5"));
  CHECK_THAT(refusal(R"({"ids":[true]})"), Contains("ids[0] = true"));
  CHECK_THAT(refusal(R"({"ids":[18446744073709551616]})"), Contains("ids[0]"));
}

}  // namespace roll
