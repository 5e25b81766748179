// Against bitsandbytes and transformers; folders and numbers come from tests/oracles/make_golden_bitsandbytes.py.
#include "checkpoint/bitsandbytes.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <map>

#include "base/file.h"
#include "checkpoint/temporary_folder.h"
#include "model/log_probs.h"
#include "model/model_folder.h"
#include "model/rewrite.h"
#include "model/transformer.h"

namespace roll {

using Catch::Contains;
using test::TemporaryFolder;

namespace {

namespace fs = std::filesystem;

const fs::path kFolders = fs::path(ROLL_SOURCE_DIR) / "tests/golden/lora/bitsandbytes";

/// The script's.
int64_t digest(const at::Tensor& matrix) {
  const at::Tensor bits = matrix.contiguous().view(matrix.element_size() == 4 ? at::kInt : at::kShort).flatten();
  return (bits.to(at::kLong) * at::arange(1, bits.numel() + 1)).sum().item<int64_t>();
}

/// The dense matrices of the quantised products, by name.
std::map<std::string, at::Tensor> quantised_matrices(const Transformer& model) {
  std::map<std::string, at::Tensor> found;
  for (size_t i = 0; i < model.backbone().layers().size(); ++i) {
    const LayerWeights& layer = model.backbone().layers()[i];
    for_each_part(layer.layer(), [&](const auto& part) {
      if constexpr (requires { part.quantised; })
        if (part.quantised)
          found[layer_prefix(model.spec(), i) + std::string(part.name) + ".weight"] = merged_weight(layer[part]);
    });
  }
  return found;
}

double worst(const Transformer& model, const Json& golden, const std::string& name) {
  const at::NoGradGuard no_grad;
  double largest = 0;
  for (size_t i = 0; i < golden["ids"].size(); ++i) {
    const PackedTokens tokens = pack_tokens({golden["ids"][i].get<std::vector<int64_t>>()});
    const auto expected = golden[name]["log_probs"][i].get<std::vector<double>>();
    const at::Tensor log_probs = token_log_probs(model, tokens, 1.0, false).log_probs;
    for (size_t t = 0; t < expected.size(); ++t)
      largest = std::max(largest, std::abs(log_probs[static_cast<int64_t>(t)].item<double>() - expected[t]));
  }
  return largest;
}

/// A golden folder whose files may be changed.
struct Changed {
  TemporaryFolder folder{};
  explicit Changed(const char* name) { fs::copy(kFolders / name, folder / "m"); }

  void config(const std::function<void(Json&)>& change) const {
    Json config = read_json(folder / "m" / "config.json");
    change(config);
    write_file_atomic(folder / "m" / "config.json", config.dump());
  }
  /// An undefined tensor is left out.
  void tensor(const std::string& name, const std::function<at::Tensor(at::Tensor)>& change) const {
    const HfFolder read = HfFolder::open(folder / "m");
    NamedTensors tensors;
    for (const TensorEntry& entry : read.entries()) {
      const at::Tensor own = read.read(entry.name).clone(), changed = entry.name == name ? change(own) : own;
      if (changed.defined()) tensors.emplace_back(entry.name, changed);
    }
    write_safetensors(folder / "m" / "model.safetensors", tensors);
  }
  Transformer load() const { return Transformer::load(folder / "m"); }
};

constexpr const char* kQ = "model.layers.0.self_attn.q_proj.weight";

}  // namespace

TEST_CASE("a folder that bitsandbytes quantised holds the matrices that it makes of it, to the bit", "[bitsandbytes]") {
  const Json golden = read_json(kFolders / "expected.json");
  const auto [name, dtype] = GENERATE(
      table<std::string, at::ScalarType>({{"nf4", at::kBFloat16}, {"nested", at::kHalf}, {"int8", at::kFloat}}));
  INFO(name);
  const auto found = quantised_matrices(Transformer::load(kFolders / name, at::kCPU, dtype));
  CHECK(found.size() == golden[name]["sums"].size());
  for (const auto& [weight, matrix] : found) {
    INFO(weight);
    CHECK(digest(matrix) == golden[name]["sums"][weight].get<int64_t>());
  }
  const Transformer wide = Transformer::load(kFolders / name, at::kCPU, at::kDouble);
  CHECK(worst(wide, golden, name) <= 5e-6);
  // Written again, it is a plain model.
  const TemporaryFolder out;
  rewrite_folder(kFolders / name, out / "plain", {}, /*merges=*/false);
  const Transformer plain = Transformer::load(out / "plain", at::kCPU, at::kDouble);
  CHECK(HfFolder::open(out / "plain").find(kQ)->dtype == (name == "nested" ? at::kHalf : at::kBFloat16));
  CHECK(quantised_matrices(plain).empty());
  CHECK(worst(plain, golden, name) <= (name == "int8" ? 2e-2 : 5e-6));  // int8 has more digits than bf16
}

TEST_CASE("adapters begin beside quantised weights as if there were none", "[bitsandbytes]") {
  const Json golden = read_json(kFolders / "expected.json");
  const auto name = GENERATE("nf4", "nested", "int8");
  const bool dora = GENERATE(false, true);
  INFO(name << (dora ? " dora" : ""));
  LoraSpec lora{.rank = 2, .use_dora = dora};
  const Transformer model = Transformer::load(kFolders / name, at::kCPU, at::kDouble, {}, architectures(), lora);
  CHECK(worst(model, golden, name) <= 5e-6);
  for (const auto& [parameter, tensor] : model.parameters())
    CHECK(tensor.requires_grad() == (parameter.find(".lora_") != std::string::npos));
  lora.quantise_base = std::string(name) == "int8" ? Quantisation::kNf4 : Quantisation::kInt8;
  CHECK_THROWS_WITH(with_adapters(read_spec(kFolders / name), lora, "m"),
                    Contains("quantise_base = ") && Contains("of m are quantised already"));
}

TEST_CASE("DoRA's lengths are those of the quantised rows", "[bitsandbytes]") {
  const TemporaryFolder folder;
  rewrite_folder(kFolders / "nf4", folder / "m", {.dtype = at::kFloat}, false);
  const auto log_probs = [&](std::optional<Quantisation> kind) {
    const LoraSpec lora{.rank = 2, .use_dora = kind.has_value(), .quantise_base = Quantisation::kInt8};
    const at::NoGradGuard no_grad;
    return token_log_probs(Transformer::load(folder / "m", at::kCPU, at::kDouble, {}, architectures(), lora),
                           pack_tokens({{1, 2, 3, 4}}), 1.0, false)
        .log_probs;
  };
  CHECK(at::allclose(log_probs(Quantisation::kInt8), log_probs({}), 0, 1e-6));
}

TEST_CASE("other quantisations are refused in words", "[bitsandbytes]") {
  const auto refused = [](const char* folder, const char* key, const Json& value, const char* message) {
    const Changed changed(folder);
    changed.config([&](Json& config) { config["quantization_config"][key] = value; });
    INFO(key << " " << value);
    CHECK_THROWS_WITH(changed.load(), Contains("config.json: quantization_config: ") && Contains(message));
  };
  for (const char* method : {"gptq", "awq", "compressed-tensors"})
    refused("nf4", "quant_method", method, "roll reads bitsandbytes, mxfp4 and fp8 only; use the unquantised");
  refused("nf4", "quant_method", "fp8", "weight_block_size = null: only [128, 128] is read");
  refused("nf4", "quant_method", 4, "quant_method = 4: is not of this key's type");
  refused("nf4", "bnb_4bit_quant_type", "fp4", "bnb_4bit_quant_type = fp4: only nf4 is read");
  refused("nf4", "bnb_4bit_quant_storage", "bfloat16", "bnb_4bit_quant_storage = bfloat16: only uint8");
  refused("nf4", "llm_int8_skip_modules", Json{"("}, "llm_int8_skip_modules = (: is not a regular expression");
  const Changed dtype("nf4");
  dtype.config([](Json& config) { config["dtype"] = "float32"; });
  CHECK_THROWS_WITH(dtype.load(), Contains("config.json: dtype: must equal the dtype of"));
  dtype.config([](Json& config) { config["dtype"] = "int"; });
  CHECK_THROWS_WITH(dtype.load(), Contains("dtype = int: must be float32, bfloat16 or float16"));
}

TEST_CASE("tensors that bitsandbytes does not write so are refused in words", "[bitsandbytes]") {
  const auto refused = [](const char* folder, const std::string& name,
                          const std::function<at::Tensor(at::Tensor)>& change, const char* message) {
    const Changed changed(folder);
    changed.tensor(name, change);
    INFO(name);
    CHECK_THROWS_WITH(changed.load(), Contains(name) && Contains(message));
  };
  const std::string q = kQ, module = q.substr(0, q.rfind('.')), state = q + ".quant_state.bitsandbytes__nf4";
  const auto absent = [](const at::Tensor&) { return at::Tensor(); };
  const auto text = [](const std::string& from, const std::string& to) {
    return [=](const at::Tensor& bytes) {
      std::string words(static_cast<const char*>(bytes.const_data_ptr()), static_cast<size_t>(bytes.numel()));
      words.replace(words.find(from), from.size(), to);
      const std::vector<uint8_t> changed(words.begin(), words.end());
      return at::tensor(at::ArrayRef<uint8_t>(changed), at::kByte);
    };
  };
  refused("nf4", q + ".absmax", absent, "is missing, but config.json says");
  refused(
      "nf4", q,
      [](const at::Tensor&) {
        return at::zeros({64, 64});
      },
      "name its module in llm_int8_skip_modules");
  refused(
      "nf4", q, [](const at::Tensor& codes) { return codes.narrow(0, 0, 2047); }, "but bitsandbytes stores 2048");
  refused(
      "nf4", "lm_head.weight",
      [](const at::Tensor&) {
        return at::zeros({512, 1}, at::kByte);
      },
      "but only linear layers may be");
  refused(
      "nf4", q + ".quant_map", [](at::Tensor map) { return map.mul_(2); }, "is not bitsandbytes' table of nf4 values");
  refused(
      "nf4", q + ".absmax", [](at::Tensor scales) { return scales.fill_(NAN); }, "holds NaN or infinite");
  refused("nf4", state, absent, "is missing");
  refused("nf4", state, text("\"blocksize\": 64", "\"blocksize\": 32"), "blocksize = 32: only 64 is read");
  refused("nf4", state, text("[64, 64]", "[32, 128]"), "shape = [32,128]: only [64,64]");
  refused("nf4", state, text("{", "["), "quant_state");
  refused("nested", state, text("256", "128"), "nested_blocksize = 128: only 256");
  refused(
      "nested", q + ".nested_absmax", [](const at::Tensor&) { return at::ones({2}); },
      "bitsandbytes stores 1 elements");
  refused("int8", module + ".SCB", absent, "is missing");
  refused(
      "int8", module + ".weight_format", [](at::Tensor format) { return format.fill_(1); },
      "must be 0 (one scale per row)");
}

}  // namespace roll
