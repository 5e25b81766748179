// Against PEFT; the numbers come from tests/oracles/make_golden_lora.py.
#include "model/lora.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <catch2/catch.hpp>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/peft_folder.h"
#include "checkpoint/save_folder.h"
#include "checkpoint/temporary_folder.h"
#include "dist/local_ranks.h"
#include "dist/mesh.h"
#include "dist/single.h"
#include "model/golden.h"
#include "model/log_probs.h"
#include "model/model_folder.h"
#include "model/transformer.h"
#include "model/value_model.h"
#include "ops/dropout.h"
#include "optim/learner.h"

namespace roll {

using Catch::Contains;
using test::golden_numbers;
using test::read_golden;
using test::TemporaryFolder;

namespace {

using Rows = std::vector<std::vector<double>>;

Json read_golden_lora(const std::string& name) {
  return read_json(std::filesystem::path(ROLL_SOURCE_DIR) / "tests/golden/lora" / (name + ".json"));
}

LoraSpec spec_in(const Json& options) {
  LoraSpec lora{.rank = options["r"], .alpha = options["lora_alpha"], .targets = options["target_modules"]};
  lora.use_dora = options.value("use_dora", false);
  lora.use_rslora = options.value("use_rslora", false);
  lora.dropout = options.value("lora_dropout", 0.0);
  lora.saved = options.value("modules_to_save", std::vector<std::string>());
  return lora;
}

/// This rank's part of the script's numbers.
void fill_adapters(const Transformer& model) {
  const at::NoGradGuard no_grad;
  const std::map<std::string, at::Tensor> by_name(model.trained().begin(), model.trained().end());
  int64_t k = 3000;
  for (auto [name, tensor] : by_name) {
    const std::vector<int64_t>& shape = model.parts().shape(name);
    const at::Tensor w = model.parts().cut(name, golden_numbers(k++, c10::multiply_integers(shape)).view(shape));
    if (name.ends_with(kMagnitude))
      tensor.mul_(1 + 0.2 * w);
    else if (name.ends_with(kLoraA) || name.ends_with(kLoraB))
      tensor.copy_(w * (name.ends_with(kLoraA) ? 1.0 : 0.5) * std::sqrt(3.0 / static_cast<double>(shape[1])));
    else
      tensor.add_(0.05 * w);
  }
}

struct GoldenLora {
  Json golden, base;
  PackedTokens tokens;
  TemporaryFolder folder{};

  explicit GoldenLora(const std::string& name)
      : golden(read_golden_lora(name)),
        base(read_golden(golden["model"])),
        tokens(pack_tokens(base["ids"].get<std::vector<std::vector<int64_t>>>())) {
    test::write_golden_folder(base, false, folder / "m");
    if (golden["lora"].contains("lora_dropout"))
      tokens.dropout_keys = dropout_keys(tokens.ids, tokens.cu_seqlens, /*seed=*/17, /*step=*/3);
  }
  Transformer model(at::ScalarType dtype, const ModelParallel& parallel = {}) const {
    Transformer model =
        Transformer::load(folder / "m", at::kCPU, dtype, parallel, architectures(), spec_in(golden["lora"]));
    fill_adapters(model);
    return model;
  }
  at::Tensor loss(const at::Tensor& log_probs) const {
    at::Tensor weights = at::cos(tokens.positions.to(at::kDouble));
    for (int64_t b = 0; b < tokens.num_sequences(); ++b) weights[tokens.cu_seqlens[b + 1] - 1] = 0;
    return (log_probs * weights).sum();
  }
  double worst(const at::Tensor& log_probs, const char* key) const {
    const Rows rows = golden[key];
    double largest = 0;
    for (size_t b = 0; b < rows.size(); ++b)
      for (size_t i = 0; i < rows[b].size(); ++i)
        largest = std::max(
            largest, std::abs(log_probs[tokens.cu_seqlens[b] + static_cast<int64_t>(i)].item<double>() - rows[b][i]));
    return largest;
  }
};

at::Tensor log_probs_of(const Transformer& model, const PackedTokens& tokens, const Recomputation& recompute = {}) {
  return token_log_probs(model, tokens, 1.0, false, recompute).log_probs;
}

/// What of these whole gradients is not PEFT's, to 5e-6.
std::string wrong_gradients(const std::map<std::string, at::Tensor>& gradients, const Json& expected) {
  if (gradients.size() != expected.size()) return "others are trained";
  std::string wrong;
  int64_t k = 1000;
  for (const auto& [parameter, found] : gradients) {
    const at::Tensor grad = found.to(at::kDouble);
    const double norm = expected[parameter][0], scale = norm * std::sqrt(static_cast<double>(grad.numel()));
    const double product = (grad.flatten() * golden_numbers(k++, grad.numel())).sum().item<double>();
    if (!(std::abs(grad.norm().item<double>() - norm) <= 5e-6 * norm)) wrong += parameter + " norm ";
    if (!(std::abs(product - expected[parameter][1].get<double>()) <= 5e-6 * scale)) wrong += parameter + " ";
  }
  return wrong;
}

const std::vector<std::string> kCases = {"plain", "plain_llama", "rslora", "dora", "saved", "dropout", "dora_dropout"};

}  // namespace

TEST_CASE("adapters' log-probs, gradients and one update equal those of PEFT", "[lora]") {
  const auto name = GENERATE(from_range(kCases));
  INFO(name);
  const GoldenLora golden(name);
  const Transformer model = golden.model(at::kDouble);
  const Recomputation recompute = GENERATE(Recomputation{}, kEveryLayer);
  const at::Tensor log_probs = log_probs_of(model, golden.tokens, recompute);
  CHECK(golden.worst(log_probs, "log_probs") <= 5e-6);
  golden.loss(log_probs).backward();
  std::map<std::string, at::Tensor> gradients;
  for (const auto& [parameter, tensor] : model.trained()) gradients[parameter] = tensor.grad();
  CHECK(wrong_gradients(gradients, golden.golden["gradients"]) == "");
  for (const auto& [parameter, tensor] : model.parameters())
    CHECK((tensor.grad().defined() || !tensor.requires_grad()));
}

TEST_CASE("adapters on tensor and context ranks have the log-probs and gradients of PEFT", "[lora]") {
  const auto name = GENERATE(from_range(kCases));
  const auto shape = GENERATE(MeshShape{.tp = 2}, MeshShape{.cp = 2});
  if (name == "plain_llama" && shape.tp == 2) return;  // has 3 heads of keys and values
  INFO(name << " cp " << shape.cp << " tp " << shape.tp);
  const GoldenLora golden(name);
  const auto said = test::run_local_ranks(2, [&](Communicator& world) {
    Mesh mesh(world, shape);
    const Transformer model = golden.model(
        at::kDouble, {.tp = shape.tp > 1 ? &mesh.tp() : nullptr, .cp = shape.cp > 1 ? &mesh.cp() : nullptr});
    const at::Tensor log_probs = log_probs_of(model, golden.tokens);
    golden.loss(log_probs).backward();
    std::map<std::string, at::Tensor> gradients;
    for (const auto& [parameter, tensor] : model.trained()) {
      at::Tensor grad = tensor.grad().clone();
      model.parts().sum_copies(parameter, grad);
      mesh.shards().all_reduce_sum(grad, parameter);
      gradients[parameter] = model.parts().gather(parameter, grad);
    }
    const std::string wrong = wrong_gradients(gradients, golden.golden["gradients"]);
    return golden.worst(log_probs, "log_probs") <= 5e-6 ? wrong : "log-probs " + wrong;
  });
  CHECK(said == std::vector<std::string>(2));
}

TEST_CASE("an update of adapters equals PEFT's and leaves the base's bits", "[lora]") {
  const auto name = GENERATE(from_range(kCases));
  const at::ScalarType dtype = GENERATE(at::kFloat, at::kDouble);
  INFO(name << " " << toString(dtype));
  const GoldenLora golden(name);
  const Transformer model = golden.model(dtype), base = model.without_adapters();
  const int64_t sum = base.parts().checksum(base.parameters());
  const std::unique_ptr<Communicator> alone = make_single_communicator();
  Learner learner("actor", model.trained(),
                  {.adamw = {}, .schedule = {.peak_lr = 1e-2}, .max_grad_norm = 0, .frozen_prefixes = {}}, *alone);
  learner.update(1, [&](int64_t) { return golden.loss(log_probs_of(model, golden.tokens)); });
  const at::NoGradGuard no_grad;
  CHECK(golden.worst(log_probs_of(model, golden.tokens), "log_probs_after") <= (dtype == at::kFloat ? 2e-5 : 5e-6));
  CHECK(base.parts().checksum(base.parameters()) == sum);
  int64_t numel = 0;
  for (const auto& [parameter, tensor] : model.trained()) numel += tensor.numel();
  CHECK(learner.num_parameters() == numel);
}

TEST_CASE("without adapters a model is the folder's, to the bit, and new adapters change nothing", "[lora]") {
  const GoldenLora golden("dora");
  const at::NoGradGuard no_grad;
  const Transformer plain = Transformer::load(golden.folder / "m");
  const at::Tensor expected = log_probs_of(plain, golden.tokens);
  const Transformer filled = golden.model(at::kFloat);
  CHECK(at::equal(log_probs_of(filled.without_adapters(), golden.tokens), expected));
  CHECK_FALSE(at::allclose(log_probs_of(filled, golden.tokens), expected, 0, 1e-3));
  const Transformer fresh =
      Transformer::load(golden.folder / "m", at::kCPU, at::kFloat, {}, architectures(), spec_in(golden.golden["lora"]));
  CHECK(at::allclose(log_probs_of(fresh, golden.tokens), expected, 0, 1e-5));
}

TEST_CASE("a folder of adapters holds their bits, and names the model they belong to", "[lora]") {
  const auto name = GENERATE(from_range(kCases));
  INFO(name);
  GoldenLora golden(name);
  golden.tokens.dropout_keys = at::Tensor();  // what is saved is sampled from
  const at::NoGradGuard no_grad;
  const Transformer model = golden.model(at::kFloat);
  make_folder(golden.folder / "a");
  model.write_files(golden.folder / "a", model.trained());
  const Transformer read = Transformer::load(golden.folder / "a");
  const at::Tensor expected = log_probs_of(model, golden.tokens);
  CHECK(at::equal(log_probs_of(read, golden.tokens), expected));
  const Json config = read_json(golden.folder / "a" / "adapter_config.json");
  CHECK(config["base_model_name_or_path"] == std::filesystem::absolute(golden.folder / "m").string());
  CHECK_NOTHROW(Transformer::load(golden.folder / "a", at::kCPU, at::kFloat, {}, architectures(),
                                  spec_in(golden.golden["lora"])));
  LoraSpec other = spec_in(golden.golden["lora"]);
  other.rank = 7;
  CHECK_THROWS_WITH(with_adapters(read_spec(golden.folder / "a"), other, "a"),
                    Contains("a: the folder's adapters are") && Contains("rank 7"));
  // Merged: the model of one folder.
  model.save(golden.folder / "merged");
  CHECK(at::allclose(log_probs_of(Transformer::load(golden.folder / "merged"), golden.tokens), expected, 0, 1e-5));
}

TEST_CASE("a critic's adapters are trained with its head, and saved with it", "[lora]") {
  const GoldenLora golden("plain");
  const ValueModel model =
      ValueModel::load(golden.folder / "m", at::kCPU, at::kFloat, {}, architectures(), spec_in(golden.golden["lora"]));
  CHECK(model.trained().back().first == "score.bias");
  {
    const at::NoGradGuard no_grad;
    for (auto [name, tensor] : model.trained()) tensor.add_(0.1);
  }
  make_folder(golden.folder / "a");
  model.write_files(golden.folder / "a", model.trained());
  const ValueModel read = ValueModel::load(golden.folder / "a");
  CHECK(at::equal(read.values(golden.tokens), model.values(golden.tokens)));
  CHECK(read_json(golden.folder / "a" / "adapter_config.json")["modules_to_save"] == Json{"score"});
}

TEST_CASE("a copy of a tied embedding unties the model if modules_to_save names it, as in PEFT, else it replaces it",
          "[lora]") {
  const GoldenLora golden("plain");
  const at::NoGradGuard no_grad;
  const std::string embedding = "model.embed_tokens.weight", head = "lm_head.weight";
  const Transformer model = golden.model(at::kFloat);
  make_folder(golden.folder / "a");
  model.write_files(golden.folder / "a", model.trained());
  const Json config = read_json(golden.folder / "a" / "adapter_config.json");
  const HfFolder base = HfFolder::open(golden.folder / "m");
  const at::Tensor copy = base.read(embedding) * 1.5;
  const auto adapt = [&](const char* name, const NamedTensors& saved, const Json& keys) {
    NamedTensors tensors = model.trained();
    tensors.insert(tensors.end(), saved.begin(), saved.end());
    Json own = config;
    own.update(keys);
    make_folder(golden.folder / name);
    write_peft_files(golden.folder / name, own, tensors, {});
    return golden.folder / name;
  };
  /// The same adapters over a model that has the copy.
  const auto expected = [&](const char* name, bool ties) {
    NamedTensors tensors;
    for (const TensorEntry& entry : base.entries())
      tensors.emplace_back(entry.name, entry.name == embedding ? copy : base.read(entry.name));
    if (!ties) tensors.emplace_back(head, base.read(embedding));
    Json own = base.config();
    own["tie_word_embeddings"] = ties;
    test::save_folder(golden.folder / (name + std::string("_base")), own, tensors);
    const auto there = (golden.folder / (name + std::string("_base"))).string();
    return log_probs_of(Transformer::load(adapt(name, {}, {{"base_model_name_or_path", there}})), golden.tokens);
  };
  const at::Tensor untied = expected("untied", false), tied = expected("tied", true);
  // A base whose head is its own although its config.json says otherwise.
  Json says_tied = read_json(golden.folder / "untied_base" / "config.json");
  says_tied["tie_word_embeddings"] = true;
  write_file_atomic(golden.folder / "untied_base" / "config.json", says_tied.dump());
  const Transformer over = Transformer::load(golden.folder / "untied");
  CHECK(at::equal(log_probs_of(over, golden.tokens), untied));
  over.save(golden.folder / "over");
  CHECK(read_json(golden.folder / "over" / "config.json")["tie_word_embeddings"] == false);
  const auto own = adapt("b", {{embedding, copy}}, {{"modules_to_save", {"embed_tokens"}}});
  const Transformer read = Transformer::load(own);
  CHECK(at::equal(log_probs_of(read, golden.tokens), untied));
  CHECK(at::equal(log_probs_of(read.without_adapters(), golden.tokens),
                  log_probs_of(Transformer::load(golden.folder / "m"), golden.tokens)));
  CHECK_THAT(folder_notes(own).at(0), Contains("has no lm_head.weight; roll reads model.embed_tokens.weight instead"));
  read.save(golden.folder / "merged");
  CHECK(read_json(golden.folder / "merged" / "config.json")["tie_word_embeddings"] == false);
  const auto exact = [&](const std::string& folder) {
    return log_probs_of(Transformer::load(folder, at::kCPU, at::kDouble), golden.tokens);
  };
  CHECK(at::allclose(exact((golden.folder / "merged").string()), exact(own), 0, 1e-5));
  CHECK_NOTHROW(with_adapters(read_spec(own), read_spec(own).lora, "b"));  // so that it can be trained on
  // What PEFT writes beside: a copy in the embedding's place, or ends that stay one.
  const NamedTensors both = {{embedding, copy}, {head, copy}};
  const auto replaced = adapt("c", both, {{"modules_to_save", nullptr}});
  CHECK(at::equal(log_probs_of(Transformer::load(replaced), golden.tokens), tied));
  const auto stays = adapt("d", both, {{"modules_to_save", {"embed_tokens"}}, {"ensure_weight_tying", true}});
  CHECK(at::equal(log_probs_of(Transformer::load(stays), golden.tokens), tied));
}

TEST_CASE("what only says where adapters are is read by the tensors; what changes their maths is refused", "[lora]") {
  const GoldenLora golden("plain");
  const Transformer model = golden.model(at::kFloat);
  make_folder(golden.folder / "a");
  model.write_files(golden.folder / "a", model.trained());
  const std::filesystem::path file = golden.folder / "a" / "adapter_config.json";
  const Json plain = read_json(file);
  const auto reading = [&](const Json& keys) {
    Json config = plain;
    config.update(keys);
    write_file_atomic(file, config.dump());
    return test::message_of([&] { Transformer::load(golden.folder / "a"); });
  };
  CHECK(reading({{"layers_to_transform", {0, 1}}, {"layers_pattern", "layers"}}) == "no exception");
  CHECK(reading({{"exclude_modules", ".*visual.*"}, {"init_lora_weights", "gaussian"}}) == "no exception");
  CHECK(reading({{"a_later_key", false}, {"another", nullptr}, {"third", Json::object()}}) == "no exception");
  CHECK_THAT(reading({{"init_lora_weights", "pissa_niter_4"}}),
             Contains("init_lora_weights = \"pissa_niter_4\": roll"));
  CHECK_THAT(reading({{"rank_pattern", {{"q_proj", 2}}}}),
             Contains("rank_pattern = {\"q_proj\":2}: roll does not support such adapters"));
  CHECK_THAT(reading({{"a_later_key", true}}), Contains("a_later_key = true: roll does not support such adapters"));
  CHECK_THAT(reading({{"bias", "all"}}), Contains("bias = \"all\": roll does not support such adapters"));
}

TEST_CASE("adapters that are not the model's are refused in words", "[lora]") {
  const GoldenLora golden("plain");
  const ModelSpec spec = read_spec(golden.folder / "m");
  CHECK_THROWS_WITH(with_adapters(spec, LoraSpec{.targets = {"query"}}, ""),
                    Contains("lora_target = query: the model has no such linear layer; it has down_proj"));
  CHECK_THROWS_WITH(with_adapters(spec, LoraSpec{.saved = {"norm"}}, ""), Contains("additional_target = norm: only"));
  CHECK_THROWS_WITH(with_adapters(spec, LoraSpec{.saved = {"lm_head"}}, ""), Contains("tie_word_embeddings"));
  const Transformer model = golden.model(at::kFloat);
  make_folder(golden.folder / "a");
  model.write_files(golden.folder / "a", model.trained());
  const std::filesystem::path file = golden.folder / "a" / "adapter_config.json";
  const auto with = [&](const char* key, const Json& value) {
    Json config = read_json(file);
    config[key] = value;
    write_file_atomic(file, config.dump());
  };
  with("alpha_pattern", {{"q_proj", 3}});
  CHECK_THROWS_WITH(read_spec(golden.folder / "a"),
                    Contains("alpha_pattern = {\"q_proj\":3}: roll does not support such adapters"));
  with("alpha_pattern", Json::object()), with("r", 5);
  CHECK_THROWS_WITH(Transformer::load(golden.folder / "a"), Contains("lora_A.weight: is [4, 24]; expected [5, 24]"));
  with("r", 4), with("base_model_name_or_path", "nowhere");
  CHECK_THROWS_WITH(read_spec(golden.folder / "a"), Contains("base_model_name_or_path = nowhere"));
  with("peft_type", "IA3");
  CHECK_THROWS_WITH(read_spec(golden.folder / "a"), Contains("peft_type: must be LORA"));
}

}  // namespace roll
