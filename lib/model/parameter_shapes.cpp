// Lists the parameters of models, and counts their FLOPs (spec.h).
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <mutex>

#include "model/mtp_head.h"
#include "model/spec.h"

namespace roll {

namespace {

FolderRows make_folder_rows(const std::string& whole, const FusedRows& fused) {
  if (fused.tensor_name.empty()) return {};
  return {.name = whole,
          .begin = fused.begin,
          .rows = fused.rows,
          .groups = fused.groups,
          .stacked = fused.stacked,
          .may_be_transposed = fused.may_be_transposed,
          .is_transposed = fused.is_transposed,
          .step = fused.step};
}

void add(std::vector<ParameterShape>& list, const std::string& prefix, const LinearShape& linear) {
  const std::string name = prefix + std::string(linear.name), whole = prefix + std::string(linear.name_in_folder());
  const bool is_stacked = linear.fused.stacked > 0;
  const auto fused = [&](const std::string& end) {
    return make_folder_rows(is_stacked ? whole : whole + end, linear.fused);
  };
  const bool cuts_rows = linear.cut.dim == 0, cuts_columns = linear.cut.dim == 1;
  list.push_back({.name = name + ".weight",
                  .shape = {linear.outputs, linear.inputs},
                  .cut = linear.cut,
                  .quantised = linear.quantised,
                  .fused = fused(".weight"),
                  .expert = linear.expert,
                  .is_projection = !linear.weighs_experts});
  // If a product's columns are sharded, its bias is whole and added once, to the sum.
  const Cut output_cut = cuts_rows ? linear.cut : Cut{};
  if (linear.has_bias) {
    ParameterShape bias = {.name = name + ".bias", .shape = {linear.outputs}, .cut = output_cut};
    bias.fused = is_stacked ? make_folder_rows(whole + "_bias", linear.fused) : fused(".bias");
    bias.fused.may_be_transposed = bias.fused.is_transposed = false;
    bias.expert = linear.expert;
    list.push_back(bias);
  }
  const AdapterShape& adapter = linear.adapter;
  if (adapter.rank == 0) return;
  if (is_stacked || linear.fused.begin == 0)  // fused products share one A
    list.push_back({.name = prefix + std::string(linear.adapted_name()) + kLoraA,
                    .shape = {adapter.rank, linear.inputs},
                    .cut = cuts_columns ? linear.cut : Cut{},
                    .is_adapter = true,
                    .expert = linear.expert});
  const auto add_rows = [&](const char* end, const std::vector<int64_t>& shape) {  // one row per output
    list.push_back({.name = name + end,
                    .shape = shape,
                    .cut = output_cut,
                    .is_adapter = true,
                    .fused = is_stacked ? FolderRows() : fused(end),
                    .expert = linear.expert});
  };
  add_rows(kLoraB, {linear.outputs, adapter.rank});
  if (adapter.has_magnitude) add_rows(kMagnitude, {linear.outputs});
}

void add(std::vector<ParameterShape>& list, const std::string& prefix, const NormShape& norm) {
  list.push_back({.name = prefix + std::string(norm.name) + ".weight",
                  .shape = {norm.width},
                  .cut = norm.cut,
                  .initial = 1 - norm.offset});
}

void add(std::vector<ParameterShape>& list, const std::string& prefix, const TensorShape& tensor) {
  list.push_back({.name = prefix + std::string(tensor.name),
                  .shape = tensor.shape,
                  .cut = tensor.cut,
                  .initial = tensor.initial,
                  .deviation = tensor.deviation,
                  .fused = make_folder_rows(prefix + std::string(tensor.fused.tensor_name), tensor.fused),
                  .is_constant = tensor.is_constant,
                  .is_wide = tensor.is_wide});
}

/// Adds the matrix [V, E] of that name, and its copy if adapters are trained with one.
void add_table(std::vector<ParameterShape>& list, const ModelSpec& spec, const std::string& name) {
  const std::vector<int64_t> shape = {spec.vocab_size, spec.hidden_size};
  list.push_back({name + ".weight", shape, vocabulary_cut(spec)});
  if (spec.lora && spec.lora->saves(name))
    list.push_back({name + kSavedInfix + ".weight", shape, vocabulary_cut(spec), true});
}

/// Adds the parameters of per-layer inputs.
void add_layer_inputs(std::vector<ParameterShape>& list, const ModelSpec& spec) {
  const WeightNames& names = spec.architecture->weights;
  const auto [width, vocab] = *spec.layer_inputs;
  const int64_t all = spec.num_layers * width;
  list.push_back({names.input_table + ".weight", {vocab, all}, {.dim = 0, .count = vocab}});
  add(list, "", input_projection(spec));
  add(list, "", NormShape{names.input_projection_norm, width});
}

std::vector<ParameterShape> layer_parameters(const Layer& layer, const std::string& prefix) {
  std::vector<ParameterShape> list;
  for_each_part(layer, [&](const auto& part) { add(list, prefix, part); });
  // Makes experts' weights adjacent (stack_experts() in weights.cpp): their biases and adapters follow.
  const auto weights_end = std::stable_partition(list.begin(), list.end(),
                                                 [](const ParameterShape& p) { return !p.is_adapter || !p.expert; });
  std::stable_partition(list.begin(), weights_end,
                        [](const ParameterShape& p) { return !p.expert || p.shape.size() > 1; });
  return list;
}

void set_layer(std::vector<ParameterShape>& list, size_t from, int64_t layer) {
  for (size_t i = from; i < list.size(); ++i) list[i].layer = layer;
}

/// Returns the lm head, and its copy if adapters are trained with one.
std::vector<ParameterShape> head_parameters(const ModelSpec& spec) {
  std::vector<ParameterShape> list;
  add_table(list, spec, spec.architecture->weights.lm_head);
  set_layer(list, 0, spec.num_layers);
  return list;
}

int64_t count(const std::vector<int64_t>& shape) {
  int64_t product = 1;
  for (const int64_t n : shape) product *= n;
  return product;
}

}  // namespace

LinearShape input_projection(const ModelSpec& spec) {
  const std::string& name = spec.architecture->weights.input_projection;
  return {.name = name,
          .outputs = spec.num_layers * spec.layer_inputs.value().width,
          .inputs = spec.hidden_size,
          .adapter = spec.lora ? spec.lora->adapter_shape(name) : AdapterShape{}};
}

std::vector<ParameterShape> in_folder(const std::vector<ParameterShape>& parameters) {
  std::vector<ParameterShape> list;
  for (const ParameterShape& parameter : parameters) {
    if (parameter.fused.begin > 0) continue;  // a later part of a fused tensor
    ParameterShape& whole = list.emplace_back(parameter);
    if (parameter.fused.name.empty()) continue;
    whole.name = parameter.name_in_folder();
    whole.shape = parameter.fused.whole_shape(parameter.shape);
  }
  return list;
}

std::vector<int64_t> FolderRows::whole_shape(std::vector<int64_t> part) const {
  part[0] = rows * groups;
  if (stacked == 0) return part;
  part[0] /= stacked;
  part.insert(part.begin(), stacked);
  if (is_transposed) std::swap(part[1], part[2]);
  return part;
}

std::vector<ParameterShape> stored_shapes(const ParameterShape& parameter) {
  if (!parameter.quantised) return {parameter};
  const int64_t outputs = parameter.shape[0], inputs = parameter.shape[1];
  const Cut& cut = parameter.cut;
  const std::string scales = parameter.name + kScales;
  if (parameter.quantised == Quantisation::kInt8)
    return {{parameter.name, parameter.shape, cut}, {scales, {outputs}, cut.dim == 0 ? cut : Cut{}}};
  const bool has_whole_blocks = inputs % kNf4Block == 0;
  const auto stored_cut = [&](int64_t numbers) {  // stored elements pack `numbers` numbers
    return cut.dim == 1 ? Cut{.dim = 1, .count = inputs / kNf4Block, .width = kNf4Block / numbers} : cut;
  };
  if (has_whole_blocks)
    return {{parameter.name, {outputs, inputs / 2}, stored_cut(2)},
            {scales, {outputs, inputs / kNf4Block}, stored_cut(kNf4Block)}};
  return {{parameter.name, {outputs, inputs / 2}}, {scales, {(outputs * inputs + kNf4Block - 1) / kNf4Block}}};
}

std::vector<ParameterShape> backbone_parameters(const ModelSpec& spec) {
  const WeightNames& names = spec.architecture->weights;
  const std::vector<Layer> layers = spec.layers();
  std::vector<ParameterShape> list;
  add_table(list, spec, names.embedding);
  if (spec.layer_inputs) add_layer_inputs(list, spec);
  for (size_t i = 0; i < layers.size(); ++i) {
    const size_t from = list.size();
    std::ranges::move(layer_parameters(layers[i], layer_prefix(spec, i)), std::back_inserter(list));
    set_layer(list, from, static_cast<int64_t>(i));
  }
  add(list, "", NormShape{names.final_norm, spec.hidden_size, spec.norm_offset()});
  list.back().layer = spec.num_layers;
  return list;
}

std::string layer_prefix(const ModelSpec& spec, size_t layer) {
  return fmt::format("{}{}.", spec.architecture->weights.layer, layer);
}

Cut vocabulary_cut(const ModelSpec& spec) {
  return {.dim = 0, .count = spec.vocab_size};
}

ParameterShape lm_head_parameter(const ModelSpec& spec) {
  return head_parameters(spec).front();
}

std::vector<ParameterShape> value_head_parameters(const ModelSpec& spec) {
  std::vector<ParameterShape> list;
  add(list, "", LinearShape{spec.architecture->weights.value_head, 1, spec.hidden_size, /*has_bias=*/true});
  for (ParameterShape& parameter : list) {
    parameter.is_adapter = spec.lora.has_value();
    parameter.is_projection = false;
  }
  set_layer(list, 0, spec.num_layers);
  return list;
}

std::vector<ParameterShape> mtp_parameters(const ModelSpec& spec) {
  const MtpHead head = describe_mtp(spec);
  std::vector<ParameterShape> list;
  add(list, head.prefix, head.projection);
  for (const NormShape* norm : {&head.embedding_norm, &head.hidden_norm, &head.norm}) add(list, head.prefix, *norm);
  std::ranges::move(layer_parameters(head.layer, head.layer_prefix), std::back_inserter(list));
  set_layer(list, 0, spec.num_layers);
  for (ParameterShape& parameter : list) parameter.is_mtp = true;
  return list;
}

std::vector<ParameterShape> policy_parameters(const ModelSpec& spec) {
  auto list = backbone_parameters(spec);
  if (!spec.tied_head) std::ranges::move(head_parameters(spec), std::back_inserter(list));
  if (spec.trains_mtp) std::ranges::move(mtp_parameters(spec), std::back_inserter(list));
  const std::string embedding = spec.architecture->weights.embedding + ".";
  for (ParameterShape& parameter : list)
    parameter.is_at_both_ends = (spec.tied_head || spec.trains_mtp) && parameter.name.starts_with(embedding);
  return list;
}

std::shared_ptr<const std::vector<ParameterShape>> shared_policy_parameters(const ModelSpec& spec) {
  struct Made {
    ModelSpec spec;
    std::shared_ptr<const std::vector<ParameterShape>> parameters;
  };
  constexpr size_t kMost = 4;  // models of a run
  static std::mutex mutex;
  static std::vector<Made> cache;  // newest last
  const std::scoped_lock lock(mutex);
  const auto found = std::ranges::find(cache, spec, &Made::spec);
  if (found != cache.end()) return found->parameters;
  if (cache.size() == kMost) cache.erase(cache.begin());
  cache.push_back({spec, std::make_shared<const std::vector<ParameterShape>>(policy_parameters(spec))});
  return cache.back().parameters;
}

std::vector<ParameterShape> critic_parameters(const ModelSpec& spec) {
  auto list = backbone_parameters(spec);
  std::ranges::move(value_head_parameters(spec), std::back_inserter(list));
  return list;
}

std::vector<ParameterShape> held_by(const std::vector<ParameterShape>& parameters, int64_t rank, int64_t size) {
  std::vector<ParameterShape> held;
  std::ranges::copy_if(parameters, std::back_inserter(held),
                       [&](const ParameterShape& p) { return !p.expert || p.expert->owner(size) == rank; });
  return held;
}

std::vector<ParameterShape> select_trained(const ModelSpec& spec, std::vector<ParameterShape> parameters) {
  if (spec.lora) std::erase_if(parameters, [](const ParameterShape& parameter) { return !parameter.is_adapter; });
  return parameters;
}

int64_t ModelSpec::num_parameters() const {
  int64_t total = 0;
  const auto parameters = shared_policy_parameters(*this);
  for (const auto& parameter : *parameters)
    if (!parameter.is_adapter) total += count(parameter.shape);
  return total;
}

ForwardFlops::ForwardFlops(const ModelSpec& spec, const std::vector<Layer>& layers, bool has_begin, bool has_head)
    : layers_(layer_cost(layers)),
      head_row_(has_head ? 2.0 * static_cast<double>(spec.vocab_size * spec.hidden_size) : 0) {
  if (spec.layer_inputs && has_begin)
    layers_.flops += 2.0 * static_cast<double>(spec.hidden_size * spec.num_layers * spec.layer_inputs->width);
}

double ForwardFlops::operator()(int64_t length, int64_t head_rows) const {
  const auto n = static_cast<double>(length);
  return layers_.flops * n + layers_.pair_flops(n) + static_cast<double>(head_rows) * head_row_;
}

double ModelSpec::forward_flops(int64_t length, int64_t head_rows) const {
  return ForwardFlops(*this)(length, head_rows);
}

}  // namespace roll
