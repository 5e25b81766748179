#include "model/value_model.h"

#include <ATen/ATen.h>

#include "base/error.h"
#include "base/file.h"
#include "dist/parallel_ops.h"
#include "model/model_folder.h"
#include "model/peft_config.h"
#include "model/spec.h"
#include "model/stacked_adapters.h"
#include "model/weights.h"
#include "ops/planned_tensors.h"
#include "ops/products.h"
#include "pipeline/stage.h"

namespace roll {

namespace {

/// Returns the config of HF's class for the same architecture with one number per token.
Json value_config(Json config, const Architecture& architecture) {
  config["architectures"] = {architecture.value_class};
  config["num_labels"] = 1;
  config["id2label"] = {{"0", "value"}};
  config["label2id"] = {{"value", 0}};
  config["classifier_dropout"] = 0.0;
  return config;
}

/// Adds zeros for a tensor that the folder lacks: a causal language model has no value head, a sequence classifier no
/// bias.
void add_head(NamedTensors& parameters, const ParameterShape& wanted, at::Device device, at::ScalarType dtype) {
  const auto options = at::TensorOptions().device(device).dtype(dtype);
  parameters.emplace_back(wanted.name, at::zeros(wanted.shape, options).requires_grad_(true));
}

}  // namespace

at::Tensor compute_values(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& bias) {
  const at::ScalarType wide = wide_dtype(hidden);
  return at::linear(hidden.to(wide), weight.to(wide), bias.to(wide)).squeeze(1);
}

void require_value_head(const std::filesystem::path& path) {
  if (!has_value_head(path))
    throw user_error(
        "{}: has no tensor {}, so it cannot score; name a sequence classifier with one label, or use llm_judge with a "
        "model that generates text",
        path.string(), value_head_parameters(read_spec(path)).front().name);
}

ValueModel::ValueModel(const ModelSpec& spec, std::shared_ptr<const ParameterShards> parts,
                       const ModelParallel& parallel, NamedTensors parameters, Json config, Companions companions)
    : parts_(std::move(parts)),
      parameters_(std::move(parameters)),
      trained_(select_parameters(parameters_, select_trained(spec, held_by(critic_parameters(spec), parallel)))),
      backbone_(spec, parameters_, parallel),
      config_(std::make_shared<const Json>(std::move(config))),
      companions_(std::make_shared<const Companions>(std::move(companions))) {
  if (parallel.stage && !parallel.stage->is_last()) return;
  head_weight_ = parameter(parameters_, spec.architecture->weights.value_head + ".weight");
  head_bias_ = parameter(parameters_, spec.architecture->weights.value_head + ".bias");
}

ValueModel ValueModel::planned(const ModelSpec& spec, at::ScalarType dtype, const ModelParallel& parallel) {
  const auto parts =
      std::make_shared<const ParameterShards>(spec, critic_parameters(spec), parallel.tp, parallel.ep, parallel.stage);
  const auto held = held_by(critic_parameters(spec), parallel);
  return {spec, parts, parallel, planned_parameters(held, *parts, dtype), {}, {}};
}

ValueModel ValueModel::load(const std::filesystem::path& path, at::Device device, at::ScalarType dtype,
                            const ModelParallel& parallel, const Architectures& known,
                            const std::optional<LoraSpec>& lora, const NamedTensors* base) {
  const ModelSpec spec = with_adapters(read_spec(path, known), lora, path.string());
  const HfFolder folder = open_weights(path, spec);
  const std::vector<ParameterShape> head = held_by(value_head_parameters(spec), parallel);
  std::vector<ParameterShape> wanted = held_by(backbone_parameters(spec), parallel), absent;
  for (const auto& part : head) (part.is_adapter || folder.find(part.name) ? wanted : absent).push_back(part);
  const auto parts =
      std::make_shared<const ParameterShards>(spec, critic_parameters(spec), parallel.tp, parallel.ep, parallel.stage);
  const auto may_ignore = [&, lm_head = lm_head_parameter(spec).name](const std::string& name) {
    return is_derived_buffer(name) || name == lm_head || parts->is_elsewhere(name) || is_kept(spec, name);
  };
  NamedTensors parameters =
      load_parameters(folder, wanted, *parts, may_ignore, device, dtype, {path, lora ? lora->seed : 0, base});
  for (const auto& part : absent) add_head(parameters, part, device, dtype);
  ValueModel model{spec,
                   parts,
                   parallel,
                   std::move(parameters),
                   value_config(make_hf_config(folder, spec), *spec.architecture),
                   find_companions(path)};
  model.base_ = folder.path();
  model.form_ = folder_form(folder, spec);
  return model;
}

ValueModel ValueModel::for_length(int64_t longest) const {
  ValueModel model = *this;
  model.backbone_ = Backbone(roll::for_length(spec(), longest), parameters_, parallel());
  return model;
}

at::Tensor ValueModel::values(const PackedTokens& tokens, const Recomputation& recompute) const {
  const TokenLayout layout = lay_out(tokens, parallel());
  const at::Tensor hidden = backbone_.forward(layout, recompute);
  if (!hidden.defined()) return {};
  at::Tensor values = compute_values(hidden, head_weight_, head_bias_);
  if (parallel().tp_size() > 1) values = gather_results(values, *parallel().tp, "values");
  return numbers_or_zeros(to_packed(layout, values, parallel()));
}

FileSums ValueModel::write_files(const std::filesystem::path& folder, const NamedTensors& whole,
                                 const HfSaveOptions& options) const {
  if (!spec().lora) {
    const FolderTensors all = folder_tensors(critic_parameters(spec()), whole, form_);
    return write_hf_files(folder, *config_, all.weights, *companions_, options, all.kept);
  }
  NamedTensors fused = fused_tensors(critic_parameters(spec()), whole);
  if (spec().mixture && spec().architecture->stacks_experts) fused = stacked_adapters(spec(), fused);
  return write_peft_files(folder, peft_config(spec(), critic_parameters(spec()), base_, "TOKEN_CLS"), fused,
                          *companions_);
}

void ValueModel::save(const std::filesystem::path& folder, const HfSaveOptions& options) const {
  ModelSpec plain = spec();
  plain.lora.reset();
  const std::vector<ParameterShape> shapes = critic_parameters(plain);
  const FolderTensors merged = folder_tensors(shapes, merged_parameters(backbone_, parameters_, shapes), form_);
  write_folder_atomic(folder, [&](const std::filesystem::path& temporary) {
    write_hf_files(temporary, *config_, merged.weights, *companions_, options, merged.kept);
  });
}

}  // namespace roll
