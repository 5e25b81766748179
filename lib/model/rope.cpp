#include "model/rope.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>

#include "model/config_reader.h"
#include "model/spec.h"

namespace roll {

namespace {

struct KindName {
  const char* name;
  RopeKind kind;
};
constexpr KindName kKinds[] = {{"default", RopeKind::kDefault},
                               {"linear", RopeKind::kLinear},
                               {"dynamic", RopeKind::kDynamic},
                               {"yarn", RopeKind::kYarn},
                               {"longrope", RopeKind::kLongRope},
                               {"llama3", RopeKind::kLlama3},
                               {"su", RopeKind::kLongRope},  // LongRoPE's first name
                               {"proportional", RopeKind::kProportional}};

RopeKind read_kind(const ConfigReader& rope, const RopeDefaults& defaults) {
  const char* key = rope.find("rope_type") ? "rope_type" : "type";
  const std::string name = rope.text(key, "default");
  if (name == "mrope" && defaults.has_sections) return RopeKind::kDefault;
  const auto* const found = std::ranges::find(kKinds, name, [](const KindName& row) { return std::string(row.name); });
  if (found == std::end(kKinds))
    rope.fail(key, "only default, linear, dynamic, yarn, longrope, llama3 and proportional are supported");
  return found->kind;
}

const char* enum_name(RopeKind kind) {
  return std::ranges::find(kKinds, kind, &KindName::kind)->name;
}

void read_yarn(const ConfigReader& object, Rope& rope) {
  rope.beta_fast = object.positive("beta_fast", 32.0);
  rope.beta_slow = object.positive("beta_slow", 1.0);
  rope.truncate = object.flag("truncate", true);
  rope.attention_factor = yarn_temperature(rope.factor, 1);
  if (object.find("mscale") && object.find("mscale_all_dim"))
    rope.attention_factor = yarn_temperature(rope.factor, object.positive("mscale")) /
                            yarn_temperature(rope.factor, object.positive("mscale_all_dim"));
  rope.attention_factor = object.positive("attention_factor", rope.attention_factor);
  if (object.find("mscale_all_dim")) rope.mscale_all_dim = object.positive("mscale_all_dim");
}

void read_longrope(const ConfigReader& object, int64_t max_positions, Rope& rope) {
  rope.long_positions = max_positions;
  const auto pairs = static_cast<size_t>(rope.dim / 2);
  rope.short_factor = object.positive_list("short_factor", pairs);
  rope.long_factor = object.positive_list("long_factor", pairs);
  const double log_original = std::log(static_cast<double>(rope.original_positions));
  rope.attention_factor = rope.factor <= 1 ? 1 : std::sqrt(1 + std::log(rope.factor) / log_original);
  rope.attention_factor = object.positive("attention_factor", rope.attention_factor);
  for (const char* key : {"short_mscale", "long_mscale"})
    if (std::abs(object.positive(key, rope.attention_factor) - rope.attention_factor) > 1e-6)
      object.fail(key, fmt::format("only the attention_factor, {:.6f}, is supported", rope.attention_factor));
}

bool is_finite(Rope rope) {
  bool is_finite = std::isfinite(rope.attention_factor);
  for (const bool is_long : {false, rope.kind == RopeKind::kLongRope}) {
    rope.is_long = is_long;
    is_finite = is_finite && inverse_frequencies(rope).isfinite().all().item<bool>();
  }
  return is_finite;
}

int64_t rotated_elements(const ConfigReader& object, int64_t head_dim, double part) {
  const auto dim = static_cast<int64_t>(static_cast<double>(head_dim) * std::min(part, 1.0));
  if (part > 1 || dim < 2 || dim % 2 != 0)
    object.fail("partial_rotary_factor", "must let an even number of a head's elements rotate, from 2 to all");
  return dim;
}

void read_proportional(const ConfigReader& object, int64_t head_dim, double part, Rope& rope) {
  rope.dim = head_dim;
  rope.rotated_pairs = static_cast<int64_t>(part * static_cast<double>(head_dim) / 2);
  if (part > 1) object.fail("partial_rotary_factor", "must be at most 1");
  rope.factor = object.positive("factor", 1.0);
}

/// Returns the share of a head that rotates: 1 unless the architecture has partial RoPE, whatever the key says. If it
/// has none, transformers fails on the key beside any RoPE but the default one.
double rotated_share(const ConfigReader& object, const RopeDefaults& defaults, double part, RopeKind kind) {
  if (defaults.allows_partial || part == 1) return part;
  if (kind != RopeKind::kDefault)
    object.fail("rope_type",
                "is not supported with partial_rotary_factor: in this architecture, RoPE rotates whole heads");
  return 1;
}

/// Reads one object of rope_parameters or rope_scaling; keys that it lacks keep the values in `rope`.
void read_object(const ConfigReader& config, const ConfigReader& object, int64_t head_dim, int64_t max_positions,
                 const RopeDefaults& defaults, Rope& rope) {
  rope.theta = object.positive("rope_theta", rope.theta);
  const double part = object.positive("partial_rotary_factor", defaults.partial);
  rope.kind = read_kind(object, defaults);
  if (rope.kind == RopeKind::kProportional) return read_proportional(object, head_dim, part, rope);
  rope.dim = rotated_elements(object, head_dim, rotated_share(object, defaults, part, rope.kind));
  if (defaults.reads_alpha && rope.kind == RopeKind::kDynamic && object.find("alpha")) {
    if (rope.dim < 4) object.fail("alpha", "needs heads of 4 elements or more");
    const auto dim = static_cast<double>(rope.dim);
    rope.theta *= std::pow(object.positive("alpha"), dim / (dim - 2));
    rope.kind = RopeKind::kDefault;
  }
  if (rope.kind == RopeKind::kDefault) return;
  const bool keeps_original =
      rope.kind == RopeKind::kYarn || rope.kind == RopeKind::kLongRope || rope.kind == RopeKind::kLlama3;
  if (keeps_original) {
    const char* const key = "original_max_position_embeddings";  // Phi-3 has it outside; that one wins
    rope.original_positions = config.find(key) ? config.count(key, SizeLimits::kPositions)
                                               : object.count(key, SizeLimits::kPositions, max_positions);
  }
  std::optional<double> stretched;  // default of the factor
  if (rope.kind == RopeKind::kYarn || rope.kind == RopeKind::kLongRope)
    stretched = static_cast<double>(max_positions) / static_cast<double>(rope.original_positions);
  rope.factor = object.positive("factor", stretched);
  if (rope.kind == RopeKind::kYarn) read_yarn(object, rope);
  if (rope.kind == RopeKind::kLongRope) read_longrope(object, max_positions, rope);
  if (rope.kind == RopeKind::kLlama3) {
    rope.low_freq_factor = object.positive("low_freq_factor");
    rope.high_freq_factor = object.positive("high_freq_factor");
    if (rope.high_freq_factor <= rope.low_freq_factor) object.fail("high_freq_factor", "must be above low_freq_factor");
  }
  if (object.find("llama_4_scaling_beta")) rope.query_growth = object.positive("llama_4_scaling_beta");
  if (!is_finite(rope))
    object.fail("factor", "gives rotations that are not finite, with the keys beside it; correct them");
}

/// Slows long waves by `factor`, keeps short ones and blends those between (Llama 3.1).
at::Tensor scale_llama3(const at::Tensor& frequencies, const Rope& rope) {
  const auto context = static_cast<double>(rope.original_positions);
  const at::Tensor wavelength = 2 * std::numbers::pi / frequencies;
  const at::Tensor slowed = frequencies / rope.factor;
  const at::Tensor blend =
      (context / wavelength - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor);
  const at::Tensor blended = (1 - blend) * slowed + blend * frequencies;
  const at::Tensor long_or_short = at::where(wavelength > context / rope.low_freq_factor, slowed, frequencies);
  const at::Tensor is_medium =
      (wavelength >= context / rope.high_freq_factor).logical_and(wavelength <= context / rope.low_freq_factor);
  return at::where(is_medium, blended, long_or_short);
}

/// Slows waves by index of the pair: pairs before `low` are kept, those after `high` slowed (YaRN, section 3.2).
at::Tensor scale_yarn(const at::Tensor& waves, const Rope& rope) {
  const auto dim = static_cast<double>(rope.dim), context = static_cast<double>(rope.original_positions);
  const auto pair_index = [&](double rotations) {
    return dim * std::log(context / (rotations * 2 * std::numbers::pi)) / (2 * std::log(rope.theta));
  };
  double low = pair_index(rope.beta_fast), high = pair_index(rope.beta_slow);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dim - 1);
  if (low == high) high += 0.001;
  const at::Tensor kept = 1 - ((at::arange(rope.dim / 2, at::kFloat) - low) / (high - low)).clamp(0, 1);
  return at::reciprocal(rope.factor * waves) * (1 - kept) + at::reciprocal(waves) * kept;
}

/// Refuses a scaling that transformers ignores in models with a RoPE per kind of layer: it reads rope_scaling, with the
/// key rope_type, for layers without a window, and ignores rope_parameters that name no kind.
void check_scaling_by_kind(const ConfigReader& config, const std::string_view key, const ConfigReader& object) {
  if (key == "rope_parameters")
    config.fail("rope_parameters",
                "names no layer type, so that transformers ignores it; write full_attention and sliding_attention with "
                "an object each");
  if (object.find("type") && !object.find("rope_type"))
    object.fail("type", "is ignored by transformers in this architecture; call it rope_type");
}

}  // namespace

void read_ropes(const ConfigReader& config, int64_t head_dim, int64_t max_positions, const RopeDefaults& usual,
                Rope& rope, Rope* local, double local_theta) {
  RopeDefaults defaults = usual;
  if (usual.reads_rotary_dim && config.find("rotary_dim"))
    defaults.partial = static_cast<double>(config.count("rotary_dim", head_dim)) / static_cast<double>(head_dim);
  defaults.partial = config.positive("partial_rotary_factor", defaults.partial);
  rope.theta = config.positive("rope_theta", usual.theta);
  rope.interleaved = usual.reads_interleave ? config.flag("rope_interleave", usual.interleaved) : usual.interleaved;
  rope.dim = rotated_elements(config, head_dim, rotated_share(config, defaults, defaults.partial, RopeKind::kDefault));
  if (local && local_theta < 0 && rope.theta != usual.theta && !config.find("rope_parameters"))
    config.fail(
        "rope_theta",
        fmt::format("applies to all layers in transformers 4, but in transformers 5 only to layers without a window "
                    "(the others have {:g}); write rope_parameters with full_attention and sliding_attention",
                    usual.theta));
  if (local) {
    *local = rope;
    local->theta = config.positive("rope_local_base_freq", local_theta > 0 ? local_theta : rope.theta);
  }
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (!config.find(key) || config.find(key)->empty()) continue;
    const ConfigReader object = config.object(key);
    const auto read = [&](const ConfigReader& from, Rope& into) {
      read_object(config, from, head_dim, max_positions, defaults, into);
    };
    const bool by_kind = object.find("full_attention") || object.find("sliding_attention");
    if (!by_kind && local) check_scaling_by_kind(config, key, object);
    if (!by_kind) read(object, rope);
    if (object.find("full_attention")) read(object.object("full_attention"), rope);
    if (local && object.find("sliding_attention")) read(object.object("sliding_attention"), *local);
    return;  // rope_scaling wins over rope_parameters
  }
}

void read_ropes_by_kind(const ConfigReader& config, int64_t head_dim, int64_t local_head_dim, int64_t max_positions,
                        Rope& rope, Rope& local) {
  rope = {.kind = RopeKind::kProportional, .theta = 1e6, .dim = head_dim, .rotated_pairs = head_dim / 8};
  local = {.dim = local_head_dim};
  if (config.find("rope_scaling"))
    config.fail("rope_scaling", "this architecture reads RoPE from rope_parameters; write it there");
  if (!config.find("rope_parameters")) return;
  const ConfigReader kinds = config.object("rope_parameters");
  const auto read = [&](const char* kind, int64_t size, Rope& into) {
    if (!kinds.find(kind)) kinds.fail(kind, "an object is needed");
    const ConfigReader object = kinds.object(kind);
    read_object(config, object, size, max_positions, {.allows_partial = true}, into);
    if (into.kind == RopeKind::kDefault && into.dim != size)
      object.fail("partial_rotary_factor", "needs rope_type = proportional");
  };
  read("full_attention", head_dim, rope);
  read("sliding_attention", local_head_dim, local);
}

Json rope_object(const Rope& rope) {
  Json object = {{"rope_type", enum_name(rope.kind)}, {"rope_theta", rope.theta}};
  if (rope.kind == RopeKind::kProportional)
    object.update(
        {{"partial_rotary_factor", static_cast<double>(2 * rope.rotated_pairs) / static_cast<double>(rope.dim)},
         {"factor", rope.factor}});
  return object;
}

void write_rope(const Rope& rope, int64_t head_dim, Json& config) {
  config["rope_theta"] = rope.theta;
  if (rope.dim != 0 && rope.dim != head_dim)
    config["partial_rotary_factor"] = static_cast<double>(rope.dim) / static_cast<double>(head_dim);
  if (rope.kind == RopeKind::kDefault) return;
  Json scaling = {{"rope_type", enum_name(rope.kind)}, {"factor", rope.factor}};
  if (rope.original_positions > 0) scaling["original_max_position_embeddings"] = rope.original_positions;
  if (rope.kind == RopeKind::kLlama3) {
    scaling["low_freq_factor"] = rope.low_freq_factor;
    scaling["high_freq_factor"] = rope.high_freq_factor;
  }
  if (rope.kind == RopeKind::kYarn) {
    scaling["beta_fast"] = rope.beta_fast;
    scaling["beta_slow"] = rope.beta_slow;
    scaling["truncate"] = rope.truncate;
    if (rope.mscale_all_dim > 0) scaling["mscale_all_dim"] = rope.mscale_all_dim;
  }
  if (rope.kind == RopeKind::kLongRope) {
    scaling["short_factor"] = rope.short_factor;
    scaling["long_factor"] = rope.long_factor;
    config["original_max_position_embeddings"] = rope.original_positions;  // Phi-3 has it here
  }
  if (rope.kind == RopeKind::kYarn || rope.kind == RopeKind::kLongRope)
    scaling["attention_factor"] = rope.attention_factor;
  if (rope.query_growth != 0) scaling["llama_4_scaling_beta"] = rope.query_growth;
  config["rope_scaling"] = scaling;
}

at::Tensor inverse_frequencies(const Rope& rope) {
  const at::Tensor exponents = at::arange(0, rope.dim, 2, at::kFloat) / static_cast<double>(rope.dim);
  const at::Tensor waves = at::pow(rope.theta, exponents), frequencies = at::reciprocal(waves);
  switch (rope.kind) {
    case RopeKind::kLinear:
      return frequencies / rope.factor;
    case RopeKind::kYarn:
      return scale_yarn(waves, rope);
    case RopeKind::kLongRope:
      return at::reciprocal(at::tensor(rope.is_long ? rope.long_factor : rope.short_factor, at::kFloat) * waves);
    case RopeKind::kLlama3:
      return scale_llama3(frequencies, rope);
    case RopeKind::kProportional:
      return at::where(at::arange(rope.dim / 2).lt(rope.rotated_pairs), frequencies, 0) / rope.factor;
    case RopeKind::kDefault:
    case RopeKind::kDynamic:  // changes only sequences beyond max_position_embeddings: there are none
      return frequencies;
  }
  return {};
}

double yarn_temperature(double factor, double mscale) {
  return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1;
}

at::Tensor query_growth(const Rope& rope, const at::Tensor& positions) {
  const at::Tensor passed = (positions.to(at::kFloat) / static_cast<double>(rope.original_positions)).floor();
  return 1 + rope.query_growth * at::log(1 + passed);
}

}  // namespace roll
