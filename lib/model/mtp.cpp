#include "model/mtp.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "base/error.h"
#include "model/mixers.h"
#include "model/run_units.h"
#include "model/weights.h"
#include "ops/layer_ops.h"

namespace roll {

namespace {

at::Tensor normed(const at::Tensor& x, const at::Tensor& weight, const ModelSpec& spec) {
  return rms_norm(x, weight, spec.rms_norm_eps, spec.norm_offset());
}

}  // namespace

std::map<std::string, std::string> mtp_copies(const ModelSpec& spec) {
  const MtpNames& names = spec.architecture->mtp.value();
  const WeightNames& model = spec.architecture->weights;
  const std::string prefix = describe_mtp(spec).prefix, &head = spec.tied_head ? model.embedding : model.lm_head;
  std::map<std::string, std::string> copies;
  for (const auto& [copy, copied] : {std::pair(names.embedding_copy, model.embedding), {names.head_copy, head}})
    if (!copy.empty()) copies[prefix + copy + ".weight"] = copied + ".weight";
  return copies;
}

ModelSpec with_mtp(ModelSpec spec, const HfFolder& folder) {
  const std::string lacks =
      fmt::format("{}: the model has no multi-token-prediction head to train", folder.path().string());
  if (!spec.architecture->mtp) throw user_error("{}: models of type {} have none", lacks, spec.architecture->name);
  const MtpHead head = describe_mtp(spec);
  const std::string projection = head.prefix + std::string(head.projection.name) + ".weight";
  if (!folder.find(projection)) throw user_error("{}: its folder lacks {}", lacks, projection);
  ModelSpec behind = spec;
  ++behind.num_layers;
  const std::string second =
      spec.architecture->mtp->prefix.empty() ? describe_mtp(behind).prefix : head.prefix + "layers.1.";
  if (std::ranges::any_of(folder.entries(), [&](const TensorEntry& entry) { return entry.name.starts_with(second); }))
    throw user_error("{}: the model has several multi-token-prediction heads; roll trains a single one",
                     folder.path().string());
  spec.trains_mtp = true;
  return spec;
}

MtpTrainingFlops::MtpTrainingFlops(const ModelSpec& spec) {
  if (!spec.trains_mtp) return;
  layer_.emplace(spec, std::vector<Layer>{describe_mtp(spec).layer}, /*has_begin=*/false, /*has_head=*/true);
  projection_ = 4.0 * static_cast<double>(spec.hidden_size * spec.hidden_size);
}

double MtpTrainingFlops::operator()(int64_t length, int64_t head_rows) const {
  if (!layer_) return 0;
  // Neither the projection's inputs nor the lm head's weight get a gradient.
  return 3 * (*layer_)(length, 0) + 2 * (projection_ * static_cast<double>(length) + (*layer_)(0, head_rows));
}

MtpWeights find_mtp(const ModelSpec& spec, const ParameterIndex& parameters, const ModelParallel& parallel) {
  const MtpHead head = describe_mtp(spec);
  const auto weight = [&](const auto& part) { return parameters[head.prefix + std::string(part.name) + ".weight"]; };
  return {.projection = {.weight = weight(head.projection), .bias = {}},
          .embedding_norm = weight(head.embedding_norm),
          .hidden_norm = weight(head.hidden_norm),
          .norm = weight(head.norm),
          .layer = {head.layer, static_cast<size_t>(spec.num_layers), head.layer_prefix, parameters, parallel.tp,
                    parallel.ep}};
}

at::Tensor Backbone::look_ahead(const at::Tensor& hidden, const at::Tensor& next_ids, const TokenLayout& layout,
                                const Recomputation& recompute) const {
  ROLL_CHECK(mtp_, "the model was made with its MTP head");
  LayerPass pass = *training_pass(layout);
  // The head's router has no costs, and the sampler recorded none of its choices.
  pass.routers.reset();
  pass.routed = {};
  pass.store = nullptr;
  const at::Tensor embeddings = [&] {
    const at::NoGradGuard no_grad;
    return embed(next_ids, pass.flow);
  }();
  const at::Tensor both =
      at::cat({normed(embeddings, mtp_->embedding_norm, spec_), normed(hidden.detach(), mtp_->hidden_norm, spec_)}, 1);
  const std::vector<LayerUnit> units = layer_units(recompute, 1);
  Carried beside;
  const at::Tensor x = run_units({&mtp_->layer, 1}, units, product(mtp_->projection, both),
                                 std::make_shared<const LayerPass>(std::move(pass)), beside, parallel_);
  return normed(x, mtp_->norm, spec_);
}

at::Tensor further_mask(const PackedTokens& tokens, const at::Tensor& wanted) {
  const at::Tensor mask = at::zeros({tokens.num_tokens()}, at::kLong);
  for (int64_t c = 0; c < tokens.num_contexts(); ++c) {
    const int64_t begin = tokens.contexts()[static_cast<size_t>(c)], predictions = tokens.context_length(c) - 2;
    if (predictions <= 0) continue;
    const at::Tensor into = mask.narrow(0, begin, predictions);
    if (wanted.defined())
      into.copy_(wanted.narrow(0, begin + 1, predictions).ne(0));
    else
      into.fill_(1);
  }
  return mask;
}

}  // namespace roll
