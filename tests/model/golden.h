// The tiny models of tests/oracles/make_golden_model.py, written as HF folders: weights from that script's formula.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "checkpoint/save_folder.h"
#include "model/spec.h"

namespace roll::test {

inline const std::vector<std::string> kGoldenModels = {
    "qwen2_gqa_tied",        "qwen2_untied_bf16",     "qwen3_gqa",
    "qwen3_tied_bias",       "llama3_scaled",         "llama_bias_fp16",
    "qwen3_moe_dense_layer", "qwen3_moe_sparse_step", "qwen2_moe_shared",
    "qwen2_moe_one_of_four"};

/// Those of tests/oracles/make_golden_architectures.py, and from seed_oss on those of make_golden_further.py.
inline const std::vector<std::string> kGoldenArchitectures = {"mistral_window",
                                                              "ministral3_yarn",
                                                              "smollm3",
                                                              "smollm3_window",
                                                              "qwen2_window",
                                                              "olmo2",
                                                              "olmo3_yarn",
                                                              "phi3",
                                                              "phi3_longrope",
                                                              "phi3_longrope_beyond",
                                                              "glm",
                                                              "glm4",
                                                              "glm4_moe",
                                                              "glm4_moe_norms",
                                                              "gemma",
                                                              "gemma2",
                                                              "gemma3",
                                                              "llama_linear",
                                                              "llama_dynamic",
                                                              "granite",
                                                              "seed_oss",
                                                              "ernie4_5",
                                                              "helium",
                                                              "cwm",
                                                              "ministral",
                                                              "exaone4",
                                                              "exaone4_no_window",
                                                              "hunyuan",
                                                              "hunyuan_alpha",
                                                              "internlm3",
                                                              "iquestcoder",
                                                              "mixtral",
                                                              "minimax_m2",
                                                              "granitemoe",
                                                              "olmoe",
                                                              "flex_olmo",
                                                              "mellum",
                                                              "dots1",
                                                              "solar_open",
                                                              "deepseek_v3",
                                                              "deepseek_v3_yarn",
                                                              "deepseek_v2",
                                                              "deepseek_v2_lite",
                                                              "glm4_moe_lite",
                                                              "gpt_oss",
                                                              "gemma3_vision",
                                                              "mistral3",
                                                              "mistral3_ministral",
                                                              "qwen2_5_vl",
                                                              "qwen3_vl",
                                                              "qwen3_vl_moe",
                                                              "glm4v",
                                                              "glm4v_moe"};

/// Those of tests/oracles/make_golden_delta_nets.py.
inline const std::vector<std::string> kGoldenDeltaNets = {"qwen3_next", "qwen3_5", "qwen3_5_moe"};

/// Those of tests/oracles/make_golden_gemma4.py.
inline const std::vector<std::string> kGoldenGemma4 = {"gemma4", "gemma4_own_values", "gemma4_inputs",
                                                       "gemma4_mixture"};

inline Json read_golden(const std::string& name) {
  return read_json(std::filesystem::path(ROLL_SOURCE_DIR) / "tests/golden/model" / (name + ".json"));
}

/// Element i of the k-th parameter by name, in [-1, 1): [numel] float64.
inline at::Tensor golden_numbers(int64_t k, int64_t numel) {
  at::Tensor values = at::empty({numel}, at::kDouble);
  for (int64_t i = 0; i < numel; ++i) {
    uint64_t x =
        (static_cast<uint64_t>(i) * 2654435761u + static_cast<uint64_t>(k) * 97654321u + 12345) % (uint64_t{1} << 32);
    x = (x * 1597334677u + 6789) % (uint64_t{1} << 32);
    values[i] = static_cast<double>(x) / 2147483648.0 - 1;
  }
  return values;
}

/// Tokens of the longest sequence that was computed, by which LongRoPE's list was chosen.
inline int64_t golden_length(const Json& golden) {
  size_t longest = 0;
  for (const Json& ids : golden["ids"]) longest = std::max(longest, ids.size() + golden.value("greedy", Json()).size());
  return static_cast<int64_t>(longest);
}

inline at::ScalarType golden_dtype(const Json& golden) {
  const std::string name = golden["dtype"];
  return name == "bfloat16" ? at::kBFloat16 : name == "float16" ? at::kHalf : at::kFloat;
}

inline NamedTensors golden_weights(const Json& golden, bool critic) {
  const ModelSpec spec = parse_spec(golden["config"], "golden");
  auto shapes = backbone_parameters(spec);
  if (critic) {
    shapes.push_back({"score.weight", {1, spec.hidden_size}});
    shapes.push_back({"score.bias", {1}});
  } else if (!spec.tied_head) {
    shapes.push_back({"lm_head.weight", {spec.vocab_size, spec.hidden_size}});
  }
  shapes = in_folder(shapes);
  std::sort(shapes.begin(), shapes.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  NamedTensors weights;
  for (size_t k = 0; k < shapes.size(); ++k) {
    const std::string& name = shapes[k].name;
    const std::vector<int64_t>& shape = shapes[k].shape;
    at::Tensor w = golden_numbers(static_cast<int64_t>(k), c10::multiply_integers(shape)).reshape(shape);
    w = w * (shape.size() == 1 ? 0.3 : std::sqrt(3.0 / static_cast<double>(shape[1])));
    if (name.find("norm") != std::string::npos || name.find("scal") != std::string::npos) w = w + 1.0;
    weights.emplace_back(name, w.to(at::kFloat).to(golden_dtype(golden)));
  }
  return weights;
}

inline std::filesystem::path write_golden_folder(const Json& golden, bool critic, const std::filesystem::path& folder) {
  save_folder(folder, golden["config"], golden_weights(golden, critic), {});
  return folder;
}

}  // namespace roll::test
