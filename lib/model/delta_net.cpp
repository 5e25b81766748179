#include "model/delta_net.h"

#include <fmt/format.h>

#include <cmath>

#include "model/config_reader.h"
#include "model/spec.h"

namespace roll {

namespace {

constexpr int64_t kMostTaps = 64;

/// Places parts of a product in a fused tensor of the folder: concatenated, or concatenated per key head.
class PartMaker {
 public:
  PartMaker(std::string_view of, std::vector<int64_t> rows, int64_t key_heads, bool by_heads)
      : fused_name_(of), rows_(std::move(rows)), key_heads_(key_heads), by_heads_(by_heads) {}

  FusedRows rows(size_t part) const {
    FusedRows fused{.tensor_name = fused_name_, .groups = by_heads_ ? key_heads_ : 1};
    for (size_t i = 0; i < rows_.size(); ++i) {
      const int64_t group_rows = rows_[i] / fused.groups;
      fused.begin += i < part ? group_rows : 0;
      fused.rows += group_rows;
    }
    return fused;
  }

 private:
  std::string_view fused_name_;
  std::vector<int64_t> rows_;
  int64_t key_heads_;
  bool by_heads_;
};

}  // namespace

DeltaSpec read_delta(const ConfigReader& config) {
  DeltaSpec delta;
  delta.key_heads = config.count("linear_num_key_heads", SizeLimits::kHeads, delta.key_heads);
  delta.value_heads = config.count("linear_num_value_heads", SizeLimits::kHeads, delta.value_heads);
  delta.key_dim = config.count("linear_key_head_dim", SizeLimits::kHeadDim, delta.key_dim);
  delta.value_dim = config.count("linear_value_head_dim", SizeLimits::kHeadDim, delta.value_dim);
  delta.kernel = config.count("linear_conv_kernel_dim", kMostTaps, delta.kernel, 2);
  if (delta.value_heads % delta.key_heads != 0)
    config.fail("linear_num_key_heads", fmt::format("must divide linear_num_value_heads ({})", delta.value_heads));
  return delta;
}

std::vector<char> read_recurs(const ConfigReader& config, int64_t num_layers) {
  std::vector<char> recurs(static_cast<size_t>(num_layers));
  const Json* types = config.find("layer_types");
  if (!types) {
    const int64_t interval = config.count("full_attention_interval", SizeLimits::kLayers, 4);
    for (int64_t i = 0; i < num_layers; ++i) recurs[i] = (i + 1) % interval != 0;
    return recurs;
  }
  if (!types->is_array() || types->size() != recurs.size())
    config.fail("layer_types", fmt::format("a list of {} layer types is needed", recurs.size()));
  for (size_t i = 0; i < recurs.size(); ++i) recurs[i] = (*types)[i] == "linear_attention";
  return recurs;
}

void write_delta(const ModelSpec& spec, Json& config) {
  const DeltaSpec& delta = *spec.delta;
  Json types = Json::array();
  for (const char recurs : spec.recurs) types.push_back(recurs ? "linear_attention" : "full_attention");
  config.update({{"layer_types", types},
                 {"linear_num_key_heads", delta.key_heads},
                 {"linear_num_value_heads", delta.value_heads},
                 {"linear_key_head_dim", delta.key_dim},
                 {"linear_value_head_dim", delta.value_dim},
                 {"linear_conv_kernel_dim", delta.kernel}});
}

GatedDeltaNet make_delta_net(const ModelSpec& spec, const MakeLinear& linear) {
  const DeltaSpec& d = *spec.delta;
  const bool by_heads = spec.architecture->delta_nets == DeltaNets::kByHeads;
  const int64_t keys = d.key_heads * d.key_dim, values = d.value_heads * d.value_dim, hidden = spec.hidden_size;
  const int64_t value_heads_per_key_head =
      d.value_heads / d.key_heads;  // value heads per key head; they share its rank
  const auto cut = [&](int64_t width) { return Cut{.dim = 0, .count = d.key_heads, .width = width}; };
  const Cut key_cut = cut(d.key_dim), value_cut = cut(value_heads_per_key_head * d.value_dim),
            head_cut = cut(value_heads_per_key_head);
  const PartMaker qkv(
      by_heads ? "linear_attn.in_proj_qkvz" : "linear_attn.in_proj_qkv",
      by_heads ? std::vector<int64_t>{keys, keys, values, values} : std::vector<int64_t>{keys, keys, values},
      d.key_heads, by_heads);
  const PartMaker ba("linear_attn.in_proj_ba", {d.value_heads, d.value_heads}, d.key_heads, true);
  const PartMaker conv("linear_attn.conv1d.weight", {keys, keys, values}, d.key_heads, false);
  const auto taps = [&](std::string_view name, int64_t rows, const Cut& shard, size_t part) {
    return TensorShape{
        .name = name, .shape = {rows, 1, d.kernel}, .cut = shard, .deviation = 0.5, .fused = conv.rows(part)};
  };
  const auto per_head_tensor = [&](std::string_view name, double initial) {
    return TensorShape{.name = name, .shape = {d.value_heads}, .cut = head_cut, .initial = initial};
  };
  static const std::string kQ = "linear_attn.q", kK = "linear_attn.k", kV = "linear_attn.v", kPartZ = "linear_attn.z",
                           kPartB = "linear_attn.b", kPartA = "linear_attn.a", kZ = "linear_attn.in_proj_z",
                           kB = "linear_attn.in_proj_b", kA = "linear_attn.in_proj_a", kOut = "linear_attn.out_proj";
  return {
      .key_heads = d.key_heads,
      .value_heads = d.value_heads,
      .key_dim = d.key_dim,
      .value_dim = d.value_dim,
      .kernel = d.kernel,
      .q = linear(kQ, keys, hidden, key_cut, qkv.rows(0)),
      .k = linear(kK, keys, hidden, key_cut, qkv.rows(1)),
      .v = linear(kV, values, hidden, value_cut, qkv.rows(2)),
      .z =
          by_heads ? linear(kPartZ, values, hidden, value_cut, qkv.rows(3)) : linear(kZ, values, hidden, value_cut, {}),
      .b = by_heads ? linear(kPartB, d.value_heads, hidden, head_cut, ba.rows(0))
                    : linear(kB, d.value_heads, hidden, head_cut, {}),
      .a = by_heads ? linear(kPartA, d.value_heads, hidden, head_cut, ba.rows(1))
                    : linear(kA, d.value_heads, hidden, head_cut, {}),
      .o = linear(kOut, hidden, values,
                  {.dim = 1, .count = d.key_heads, .width = value_heads_per_key_head * d.value_dim}, {}),
      .q_conv = taps("linear_attn.conv1d.q", keys, key_cut, 0),
      .k_conv = taps("linear_attn.conv1d.k", keys, key_cut, 1),
      .v_conv = taps("linear_attn.conv1d.v", values, value_cut, 2),
      // A new model's states remember about a hundred tokens: exp(-softplus(-4.6)) = 0.99.
      .dt_bias = per_head_tensor("linear_attn.dt_bias", -4.6),
      .a_log = per_head_tensor("linear_attn.A_log", 0),
      .norm = {"linear_attn.norm", d.value_dim},
  };
}

}  // namespace roll
