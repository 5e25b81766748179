#include "checkpoint/gguf/rope_scaling.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numbers>
#include <string>

#include "base/error.h"

namespace roll::gguf {

namespace {

constexpr double kUsualPositions = 8192;

double divisor_of(const Llama3& scaling, double frequency) {
  const double turns = scaling.positions * frequency / (2 * std::numbers::pi);  // within the original context
  if (turns > scaling.high) return 1;
  if (turns < scaling.low) return scaling.factor;
  const double blend = (turns - scaling.low) / (scaling.high - scaling.low);
  return 1 / ((1 - blend) / scaling.factor + blend);
}

bool makes(const Llama3& scaling, const std::vector<double>& divisors, double theta) {
  const std::vector<double> made = llama3_divisors(scaling, theta, divisors.size());
  return std::ranges::equal(made, divisors, [](double a, double b) { return std::abs(a / b - 1) <= 1e-4; });
}

}  // namespace

std::vector<double> llama3_divisors(const Llama3& scaling, double theta, size_t pairs) {
  std::vector<double> divisors(pairs);
  for (size_t i = 0; i < pairs; ++i)
    divisors[i] = divisor_of(scaling, std::pow(theta, -static_cast<double>(i) / static_cast<double>(pairs)));
  return divisors;
}

std::vector<double> small_tensor(const File& file, const char* name) {
  constexpr int64_t kMost = 4096;
  const StoredTensor* tensor = file.find_tensor(name);
  if (!tensor) return {};
  if (tensor->format->code != kF32 || tensor->shape.size() != 1 || tensor->shape[0] > kMost)
    throw user_error("{}: {}: a list of at most {} float32 numbers is needed", file.name(), name, kMost);
  std::vector<float> values(static_cast<size_t>(tensor->shape[0]));
  std::memcpy(values.data(), tensor->data, values.size() * sizeof(float));
  std::vector<double> decimals;
  for (const float value : values) decimals.push_back(shortest_decimal(value));
  return decimals;
}

/// Only the ratios of original_max_position_embeddings, low_freq_factor and high_freq_factor have an effect, so the
/// first is fixed.
Json llama3_scaling(const File& file, const std::vector<double>& divisors, double theta) {
  if (std::ranges::all_of(divisors, [](double divisor) { return divisor == 1; })) return {};
  const double factor = std::ranges::max(divisors);
  for (const double low : {1.0, 2.0, 0.5, 4.0, 0.25, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0})
    for (const double ratio : {4.0, 2.0, 8.0, 3.0, 1.5, 5.0, 6.0, 16.0, 32.0})
      if (makes({factor, low, low * ratio, kUsualPositions}, divisors, theta))
        return {{"rope_type", "llama3"},
                {"factor", factor},
                {"low_freq_factor", low},
                {"high_freq_factor", low * ratio},
                {"original_max_position_embeddings", static_cast<int64_t>(kUsualPositions)}};
  throw user_error("{}: rope_freqs.weight: no scaling of Llama 3 makes these numbers; give the model as safetensors",
                   file.name());
}

Json keyed_scaling(const File& file, const std::string& architecture) {
  const std::string prefix = architecture + ".rope.scaling.", type_key = prefix + "type";
  const auto older = file.number(architecture + ".rope.scale_linear");
  const std::string type = file.text(type_key).value_or(older && *older != 1 ? "linear" : "none");
  if (type == "none" || type == "longrope") return {};
  if (type != "linear" && type != "yarn") file.fail(type_key, "none, linear, yarn or longrope is needed");
  const auto factor = older ? older : file.number(prefix + "factor");
  if (!factor) file.fail(prefix + "factor", "a number is needed");
  Json scaling = {{"rope_type", type}, {"factor", *factor}};
  if (type == "linear") return *factor == 1 ? Json() : scaling;
  const std::string extrapolation = prefix + "yarn_ext_factor";
  if (file.number(extrapolation).value_or(1) != 1) file.fail(extrapolation, "only 1 is read");
  if (const auto original = file.count(prefix + "original_context_length"))
    scaling["original_max_position_embeddings"] = *original;
  for (const auto& [key, name] : {std::pair("yarn_attn_factor", "attention_factor"),
                                  std::pair("yarn_beta_fast", "beta_fast"), std::pair("yarn_beta_slow", "beta_slow")})
    if (const auto value = file.number(prefix + key)) scaling[name] = *value;
  return scaling;
}

}  // namespace roll::gguf
