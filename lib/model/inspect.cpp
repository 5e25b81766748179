#include "model/inspect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "checkpoint/base_folder.h"
#include "checkpoint/hf_folder.h"
#include "model/features.h"
#include "model/model_folder.h"
#include "model/spec.h"
#include "model/unknown_architecture.h"

namespace roll {

namespace {

/// Returns the notes of a folder with weights; else none.
std::vector<std::string> notes_or_none(const std::filesystem::path& folder) {
  try {
    return folder_notes(folder);
  } catch (const UserError&) {
    return {};
  }
}

std::string join_names(const std::vector<std::string>& names) {
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

std::string gigabytes(double bytes) {
  return bytes < 1e9 ? fmt::format("{:.3g} MB", bytes / 1e6) : fmt::format("{:.3g} GB", bytes / 1e9);
}

std::string describe(const ModelSpec& spec) {
  const auto parameters = static_cast<double>(spec.num_parameters());
  const LayerCost cost = layer_cost(spec.layers());
  int64_t sliding = 0;
  for (const char slides : spec.slides) sliding += slides != 0;
  std::string text = fmt::format("architecture: {} ({})\n", spec.architecture->name, spec.architecture->causal_class);
  text += fmt::format(
      "layers: {}, each with {} query heads over {} key/value heads of size {}, and an MLP of size {}; hidden size "
      "{}\n",
      spec.num_layers, spec.num_heads, spec.num_kv_heads, spec.head_dim, spec.intermediate_size, spec.hidden_size);
  if (spec.latent)
    text +=
        fmt::format("latent attention: a latent of {} elements per token, keys of {} + {} elements, values of {}\n",
                    spec.latent->latent_dim, spec.latent->key_dim, spec.latent->rotated_dim, spec.latent->value_dim);
  if (sliding > 0) text += fmt::format("window: {} tokens in {} of the layers\n", spec.window, sliding);
  if (spec.full_heads)
    text += fmt::format("layers without a window: {} query heads over {} key/value heads of size {}{}\n",
                        spec.num_heads, spec.full_heads->num_kv_heads, spec.full_heads->head_dim,
                        spec.full_heads->keys_are_values ? ", whose keys are also their values" : "");
  if (spec.keyless_layers > 0)
    text += fmt::format("the last {} layers read the keys and values of the last earlier layer of their type\n",
                        spec.keyless_layers);
  if (spec.layer_inputs) text += fmt::format("per-layer inputs: {} elements per token\n", spec.layer_inputs->width);
  if (spec.delta) {
    const DeltaSpec& d = *spec.delta;
    text += fmt::format(
        "gated delta nets: in {} of the layers, {} value heads of size {} over {} key heads of size {}, after a "
        "convolution of {} tokens; states {} per sequence\n",
        std::ranges::count_if(spec.recurs, [](char recurs) { return recurs != 0; }), d.value_heads, d.value_dim,
        d.key_heads, d.key_dim, d.kernel, gigabytes(4.0 * static_cast<double>(cost.states)));
  }
  if (spec.architecture->is_multimodal)
    text += "weights of other parts (vision, for example) are kept and saved unchanged\n";
  text += fmt::format("features beyond Llama's: {}\n", join_names(feature_names(layer_features(spec))));
  text += fmt::format("longest sequence: {} tokens", spec.most_positions());
  if (spec.most_positions() > spec.max_positions)
    text += fmt::format(
        "; RoPE uses short_factor in runs of up to {} tokens, the original context, and long_factor in longer ones",
        spec.max_positions);
  text += "\n";
  text += fmt::format("parameters: {}\n", spec.num_parameters());
  text += fmt::format("memory in 16 bits: weights {}, KV cache {} per 1000 tokens; training with AdamW {}\n",
                      gigabytes(2 * parameters), gigabytes(2000.0 * static_cast<double>(cost.cached)),
                      gigabytes(16 * parameters));
  return text;
}

}  // namespace

Inspection inspect_folder(const std::filesystem::path& folder) {
  const std::filesystem::path base = base_folder(folder);
  const Json config = HfFolder::read_config(base);
  try {
    std::string text = describe(read_spec(folder));
    for (const std::string& note : notes_or_none(folder)) text += "note: " + note + "\n";
    return {text, true};
  } catch (const UserError& e) {
    const std::string why = is_unknown(config, architectures()) ? "" : explain_unknown(config, base, architectures());
    return {fmt::format("not supported: {}\n{}", e.what(), why), false};
  }
}

}  // namespace roll
