#include "model/transformer.h"

#include <ATen/ATen.h>

#include "base/error.h"
#include "base/file.h"
#include "model/model_folder.h"
#include "model/mtp.h"
#include "model/peft_config.h"
#include "model/spec.h"
#include "model/stacked_adapters.h"
#include "model/weights.h"
#include "ops/linear_log_prob.h"
#include "pipeline/stage.h"

namespace roll {

Transformer::Transformer(const ModelSpec& spec, std::shared_ptr<const ParameterShards> parts,
                         const ModelParallel& parallel, NamedTensors parameters, Json config, Companions companions)
    : parts_(std::move(parts)),
      parameters_(std::move(parameters)),
      trained_(
          select_parameters(parameters_, select_trained(spec, held_by(*shared_policy_parameters(spec), parallel)))),
      backbone_(spec, parameters_, parallel),
      head_(parallel.stage && !parallel.stage->is_last() ? at::Tensor()
            : spec.tied_head                             ? backbone_.embedding()
                             : trained_copy(parameters_, spec.architecture->weights.lm_head)),
      config_(std::make_shared<const Json>(std::move(config))),
      companions_(std::make_shared<const Companions>(std::move(companions))) {}

Transformer Transformer::load(const std::filesystem::path& path, at::Device device, at::ScalarType dtype,
                              const ModelParallel& parallel, const Architectures& known,
                              const std::optional<LoraSpec>& lora, const NamedTensors* base, bool trains_mtp) {
  ModelSpec spec = with_adapters(read_spec(path, known), lora, path.string());
  const HfFolder folder = open_weights(path, spec);
  if (trains_mtp) spec = with_mtp(std::move(spec), folder);
  const auto parts = std::make_shared<const ParameterShards>(spec, *shared_policy_parameters(spec), parallel.tp,
                                                             parallel.ep, parallel.stage);
  const auto may_ignore = [&, head = lm_head_parameter(spec).name](const std::string& name) {
    return is_derived_buffer(name) || (spec.tied_head && name == head) || parts->is_elsewhere(name) ||
           is_kept(spec, name);
  };
  auto parameters = load_parameters(folder, held_by(*shared_policy_parameters(spec), parallel), *parts, may_ignore,
                                    device, dtype, {path, lora ? lora->seed : 0, base});
  Transformer model{spec, parts, parallel, std::move(parameters), make_hf_config(folder, spec), find_companions(path)};
  model.base_ = folder.path();
  model.form_ = folder_form(folder, spec);
  return model;
}

Transformer Transformer::without_adapters() const {
  ModelSpec plain = spec();
  plain.lora.reset();
  Transformer model = *this;
  model.parameters_ = select_parameters(parameters_, held_by(policy_parameters(plain), parallel()));
  model.trained_.clear();
  model.backbone_ = Backbone(plain, model.parameters_, parallel());
  if (!plain.tied_head && head_.defined()) model.head_ = parameter(model.parameters_, lm_head_parameter(plain).name);
  return model;
}

Transformer Transformer::for_length(int64_t longest) const {
  Transformer model = *this;
  model.backbone_ = Backbone(roll::for_length(spec(), longest), parameters_, parallel());
  return model;
}

Transformer Transformer::init(const ModelSpec& spec, uint64_t seed, at::Device device, at::ScalarType dtype) {
  const auto parts = std::make_shared<const ParameterShards>(spec, policy_parameters(spec), nullptr);
  return {spec, parts, {}, init_parameters(policy_parameters(spec), seed, device, dtype), hf_config(spec), {}};
}

Transformer Transformer::planned(const ModelSpec& spec, at::ScalarType dtype, const ModelParallel& parallel) {
  const auto parts = std::make_shared<const ParameterShards>(spec, *shared_policy_parameters(spec), parallel.tp,
                                                             parallel.ep, parallel.stage);
  const auto held = held_by(*shared_policy_parameters(spec), parallel);
  return {spec, parts, parallel, planned_parameters(held, *parts, dtype), {}, {}};
}

at::Tensor Transformer::for_head(const at::Tensor& hidden) const {
  return spec().logit_scale == 1 || !hidden.defined() ? hidden : hidden * spec().logit_scale;
}

at::Tensor Transformer::logits(const at::Tensor& hidden) const {
  const at::Tensor local = wide_logits(hidden, head_).to(at::kFloat);
  cap_logits(local, spec().logit_cap);
  return gather_vocabulary(local);
}

at::Tensor Transformer::gather_vocabulary(const at::Tensor& local) const {
  if (parts_->is_whole()) return local;
  // Shards of the vocabulary differ by at most a row: they are padded to the widest for gathering.
  const auto [size, vocab] = std::pair(parallel().tp_size(), spec().vocab_size);
  const at::Tensor padded = at::constant_pad_nd(local, {0, (vocab + size - 1) / size - local.size(1)});
  const std::vector<at::Tensor> all = parallel().tp->all_gather(padded, "logits");
  std::vector<at::Tensor> parts;
  for (int64_t rank = 0; rank < size; ++rank) {
    const TensorShard rows = vocabulary_shard(spec(), rank, size);
    parts.push_back(all[static_cast<size_t>(rank)].narrow(1, 0, rows.end - rows.begin));
  }
  return at::cat(parts, 1);
}

FileSums Transformer::write_files(const std::filesystem::path& folder, const NamedTensors& whole,
                                  const HfSaveOptions& options) const {
  if (!spec().lora) {
    const FolderTensors all = folder_tensors(policy_parameters(spec()), whole, form_);
    return write_hf_files(folder, *config_, all.weights, *companions_, options, all.kept);
  }
  NamedTensors fused = fused_tensors(policy_parameters(spec()), whole);
  if (spec().mixture && spec().architecture->stacks_experts) fused = stacked_adapters(spec(), fused);
  return write_peft_files(folder, peft_config(spec(), policy_parameters(spec()), base_, "CAUSAL_LM"), fused,
                          *companions_);
}

void Transformer::save(const std::filesystem::path& folder, const HfSaveOptions& options) const {
  ModelSpec plain = spec();
  plain.lora.reset();
  const std::vector<ParameterShape> shapes = policy_parameters(plain);
  const FolderTensors merged = folder_tensors(shapes, merged_parameters(backbone_, parameters_, shapes), form_);
  write_folder_atomic(folder, [&](const std::filesystem::path& temporary) {
    write_hf_files(temporary, *config_, merged.weights, *companions_, options, merged.kept);
  });
}

}  // namespace roll
