#include "convert/adapters.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace roll {

namespace {

/// Megatron's module names and roll's; linear_qkv and linear_fc1 are fused modules.
constexpr std::pair<std::string_view, const char*> kMegatronModules[] = {
    {"linear_qkv", "q_proj, k_proj, v_proj"},
    {"linear_q", "q_proj"},
    {"linear_k", "k_proj"},
    {"linear_v", "v_proj"},
    {"linear_proj", "o_proj"},
    {"linear_fc1", "gate_proj, up_proj"},
    {"linear_fc1_gate", "gate_proj"},
    {"linear_fc1_up", "up_proj"},
    {"linear_fc2", "down_proj"},
};

std::string roll_module_name(const std::string& name) {
  const auto* const known = std::ranges::find(kMegatronModules, name, [](const auto& pair) { return pair.first; });
  return known == std::end(kMegatronModules) ? name : known->second;
}

bool is_name(const std::string& target) {
  return std::ranges::all_of(target, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  });
}

std::string read_targets(Conversion& c, const std::string& key) {
  std::vector<std::string> targets = split_entries(c.text(key));
  if (targets.empty()) {
    c.differs(
        "adapters: no target modules are given; PEFT chooses them by the model, for most q_proj and v_proj, which are "
        "set here");
    targets = {"q_proj", "v_proj"};
  }
  if (!std::ranges::all_of(targets, is_name))
    throw c.refused(
        key, "patterns are not supported; name the modules: all-linear, or the ends of their names (q_proj, v_proj)");
  for (std::string& target : targets) target = roll_module_name(target);
  return fmt::format("[{}]", fmt::join(targets, ", "));
}

}  // namespace

std::vector<std::string> split_entries(const std::string& list) {
  std::vector<std::string> entries(1);
  for (const char c : list)
    if (std::string_view("[], '\"").find(c) == std::string_view::npos)
      entries.back() += c;
    else if (!entries.back().empty())
      entries.emplace_back();
  if (entries.back().empty()) entries.pop_back();
  return entries;
}

bool asks_for_rank(const Conversion& c, const std::string& rank_key) {
  return !c.text(rank_key).empty() && c.number(rank_key) != 0;
}

void set_adapters(Conversion& c, std::initializer_list<const char*> roles, const AdapterKeys& keys, bool wanted) {
  const bool is_quantised = !keys.in_4_bits.empty() && c.is_true(keys.in_4_bits);
  if (is_quantised && !wanted)
    throw c.refused(keys.in_4_bits,
                    "4-bit weights cannot be trained; train adapters (LoRA) on them, or load them in full precision");
  if (!wanted) return;
  const std::string rank = fmt::format("{}", c.count(keys.rank)), targets = read_targets(c, keys.targets);
  c.number(keys.alpha);
  if (!keys.dropout.empty()) c.number(keys.dropout);
  for (const char* role : roles) {
    const std::string args = std::string(role) + ".model_args.";
    c.set(args + "lora_rank", rank, c.origin(keys.rank));
    c.set_from(args + "lora_alpha", keys.alpha);
    c.set(args + "lora_target", targets, c.origin(keys.targets));
    if (!keys.dropout.empty()) c.set_from(args + "lora_dropout", keys.dropout);
    if (is_quantised) c.set(args + "quantise_base", "nf4", c.origin(keys.in_4_bits));
  }
}

}  // namespace roll
