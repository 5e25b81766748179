#include "model/mtp_head.h"

namespace roll {

namespace {

/// Returns the spec of a model whose only layer is the head's: with attention, and with experts if the model has any.
ModelSpec one_layer(ModelSpec spec) {
  spec.num_layers = 1;
  spec.no_rope.clear();
  spec.slides.clear();
  spec.recurs.clear();
  if (spec.mixture) {
    spec.mixture->sparse_step = 1;
    spec.mixture->dense_layers.clear();
  }
  return spec;
}

}  // namespace

MtpHead describe_mtp(const ModelSpec& spec) {
  const MtpNames& names = spec.architecture->mtp.value();
  const std::string prefix =
      names.prefix.empty() ? layer_prefix(spec, static_cast<size_t>(spec.num_layers)) : names.prefix;
  const auto norm = [&](const std::string& name) { return NormShape{name, spec.hidden_size, spec.norm_offset()}; };
  return {.prefix = prefix,
          .layer_prefix = prefix + names.layer,
          .projection = {.name = names.projection, .outputs = spec.hidden_size, .inputs = 2 * spec.hidden_size},
          .embedding_norm = norm(names.embedding_norm),
          .hidden_norm = norm(names.hidden_norm),
          .norm = norm(names.norm),
          .layer = one_layer(spec).layers().front()};
}

}  // namespace roll
