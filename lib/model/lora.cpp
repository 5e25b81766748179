#include "model/lora.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "model/config.h"

namespace roll {

namespace {

bool is_module_suffix(std::string_view name, std::string_view target) {
  return name == target || (name.ends_with(target) && name[name.size() - target.size() - 1] == '.');
}

}  // namespace

double LoraSpec::scale() const {
  const auto r = static_cast<double>(rank);
  return alpha / (use_rslora ? std::sqrt(r) : r);
}

AdapterShape LoraSpec::adapter_shape(std::string_view linear) const {
  const bool is_target =
      targets.empty() || std::ranges::any_of(targets, [&](const auto& t) { return is_module_suffix(linear, t); });
  return is_target ? AdapterShape{rank, scale(), use_dora, dropout} : AdapterShape{};
}

bool LoraSpec::saves(std::string_view module) const {
  return std::ranges::any_of(saved, [&](const std::string& name) { return is_module_suffix(module, name); });
}

bool LoraSpec::has_same_shape(const LoraSpec& other) const {
  const auto sorted = [](std::vector<std::string> names) {
    std::ranges::sort(names);
    return names;
  };
  return rank == other.rank && alpha == other.alpha && use_dora == other.use_dora && use_rslora == other.use_rslora &&
         sorted(targets) == sorted(other.targets) && sorted(saved) == sorted(other.saved);
}

std::optional<LoraSpec> make_lora_spec(const ModelArgs& args, int64_t seed) {
  if (!args.trains_adapters()) return {};
  LoraSpec lora{.rank = args.lora_rank.value_or(8),
                .alpha = 0,
                .use_dora = args.use_dora,
                .use_rslora = args.use_rslora,
                .targets = args.lora_target,
                .saved = args.additional_target,
                .seed = static_cast<uint64_t>(seed),
                .dropout = args.lora_dropout,
                .quantise_base = args.quantise_base};
  lora.alpha = args.lora_alpha.value_or(2.0 * static_cast<double>(lora.rank));
  if (std::ranges::find(lora.targets, "all-linear") != lora.targets.end()) lora.targets.clear();
  return lora;
}

std::string describe(const LoraSpec& lora) {
  return fmt::format("{} of rank {}, alpha {:g}, on {}{}{}{}",
                     lora.use_dora     ? "DoRA"
                     : lora.use_rslora ? "rsLoRA"
                                       : "LoRA",
                     lora.rank, lora.alpha,
                     lora.targets.empty() ? "all linear layers" : fmt::format("{}", fmt::join(lora.targets, ", ")),
                     lora.saved.empty() ? "" : fmt::format(", with {}", fmt::join(lora.saved, ", ")),
                     lora.dropout > 0 ? fmt::format(", dropout {:g}", lora.dropout) : "",
                     lora.quantise_base ? fmt::format(", over weights in {}", enum_name(*lora.quantise_base)) : "");
}

}  // namespace roll
