// Converts between a model's parameters and a folder's tensors (weights.h).
#include <ATen/ATen.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <unordered_map>
#include <utility>

#include "checkpoint/base_folder.h"
#include "model/backbone.h"
#include "model/mtp.h"
#include "model/weights.h"

namespace roll {

namespace {

/// Joins the parts of a fused tensor, in order; a part's `shape`.
at::Tensor joined_parts(const std::vector<at::Tensor>& parts, FolderRows rows, const std::vector<int64_t>& shape) {
  std::vector<at::Tensor> woven;  // parts whose rows alternate, joined
  for (size_t i = 0; i < parts.size(); i += static_cast<size_t>(rows.step)) {
    const std::vector<at::Tensor> some(parts.begin() + static_cast<std::ptrdiff_t>(i),
                                       parts.begin() + static_cast<std::ptrdiff_t>(i) + rows.step);
    woven.push_back(rows.step == 1 ? some[0] : at::stack(some, 2).flatten(1, 2));
  }
  const bool is_transposed = std::exchange(rows.is_transposed, false);
  const at::Tensor all = at::cat(woven, 1).reshape(rows.whole_shape(shape));
  return is_transposed ? all.transpose(1, 2).contiguous() : all;
}

}  // namespace

NamedTensors fused_tensors(const std::vector<ParameterShape>& parameters, const NamedTensors& tensors) {
  std::unordered_map<std::string_view, const ParameterShape*> fused;  // parts, by their names
  std::unordered_map<std::string_view, std::map<int64_t, std::string>> part_names;
  for (const ParameterShape& parameter : parameters) {
    if (parameter.fused.name.empty()) continue;
    fused.emplace(parameter.name, &parameter);
    part_names[parameter.fused.name].emplace(parameter.fused.begin, parameter.name);
  }
  const ParameterIndex all(tensors);
  NamedTensors list;
  for (const auto& [name, tensor] : tensors) {
    const auto part = fused.find(name);
    if (part == fused.end()) {
      list.emplace_back(name, tensor);
      continue;
    }
    const FolderRows& folder_rows = part->second->fused;
    if (folder_rows.begin > 0) continue;
    std::vector<at::Tensor> parts;  // [groups, rows of a group, ...] each
    for (const auto& [begin, part_name] : part_names[folder_rows.name])
      parts.push_back(all[part_name].unflatten(0, {folder_rows.groups, all[part_name].size(0) / folder_rows.groups}));
    list.emplace_back(folder_rows.name, joined_parts(parts, folder_rows, part->second->shape));
  }
  return list;
}

std::set<std::string> wide_names(const std::vector<ParameterShape>& parameters) {
  std::set<std::string> wide;
  for (const ParameterShape& parameter : parameters)
    if (parameter.is_wide) wide.insert(parameter.name);
  return wide;
}

FolderTensors folder_tensors(const std::vector<ParameterShape>& parameters, const NamedTensors& tensors,
                             const FolderForm& form) {
  const std::set<std::string> wide = wide_names(parameters);
  FolderTensors all;
  for (const auto& [name, tensor] : fused_tensors(parameters, tensors))
    (wide.contains(name) ? all.kept : all.weights)
        .emplace_back(name, form.transposed.contains(name) ? tensor.transpose(1, 2).contiguous() : tensor);
  for (const auto& [name, tensor] : form.kept) {
    const auto copied = form.copies.find(name);
    all.kept.emplace_back(name, copied == form.copies.end() ? tensor : parameter(tensors, copied->second).to(tensor));
  }
  for (NamedTensors* tensors_in_folder : {&all.weights, &all.kept})
    for (auto& named : *tensors_in_folder) named.first = folder_name(form.prefixes, named.first);
  return all;
}

NamedTensors merged_parameters(const Backbone& backbone, const NamedTensors& parameters,
                               const std::vector<ParameterShape>& plain) {
  std::map<std::string, at::Tensor> layer_weights;
  for (size_t i = 0; i < backbone.layers().size(); ++i)
    for_each_part(backbone.layers()[i].layer(), [&, prefix = layer_prefix(backbone.spec(), i)](const auto& part) {
      if constexpr (requires { part.adapter; })
        layer_weights[prefix + std::string(part.name) + ".weight"] = merged_weight(backbone.layers()[i][part]);
    });
  if (backbone.input_projection().weight.defined())
    layer_weights[std::string(input_projection(backbone.spec()).name) + ".weight"] =
        merged_weight(backbone.input_projection());
  NamedTensors merged;
  for (const ParameterShape& shape : plain) {
    const auto found = layer_weights.find(shape.name);
    const std::string module = shape.name.substr(0, shape.name.rfind('.'));
    const bool is_weight = shape.name.ends_with(".weight");
    const at::Tensor merged_value = found != layer_weights.end() ? found->second
                                    : is_weight                  ? trained_copy(parameters, module)
                                                                 : parameter(parameters, shape.name);
    merged.emplace_back(shape.name, shape.is_wide ? merged_value.detach() : merged_value.detach().to(backbone.dtype()));
  }
  return merged;
}

std::vector<ParameterShape> as_stored_in(const HfFolder& folder, std::vector<ParameterShape> wanted) {
  for (ParameterShape& parameter : wanted) {
    FolderRows& fused = parameter.fused;
    if (fused.name.empty()) continue;
    const TensorEntry* entry = folder.find(fused.name);
    if (!entry && folder.find(parameter.name)) fused = {};
    if (!entry || !fused.may_be_transposed) continue;
    fused.is_transposed = false;
    std::vector<int64_t> shape = fused.whole_shape(parameter.shape);
    const bool is_usual = entry->shape == shape;
    std::swap(shape[1], shape[2]);
    fused.is_transposed = !is_usual && entry->shape == shape;
  }
  return wanted;
}

bool is_kept(const ModelSpec& spec, const std::string& name) {
  const auto begins = [&](const std::string& begin) { return name.starts_with(begin); };
  const WeightNames& names = spec.architecture->weights;
  for (int64_t i = spec.num_layers - spec.keyless_layers; i < spec.num_layers; ++i)
    for (const std::string* part : {&names.k, &names.v, &names.k_norm})
      if (begins(layer_prefix(spec, static_cast<size_t>(i)) + *part + ".")) return true;
  if (const auto& mtp = spec.architecture->mtp; mtp && mtp->prefix.empty() && begins(names.layer))
    return std::atoll(name.c_str() + names.layer.size()) >= spec.num_layers;
  return std::ranges::any_of(spec.architecture->kept, begins);
}

FolderForm folder_form(const HfFolder& folder, const ModelSpec& spec) {
  FolderForm form;
  if (folder.is_renamed()) form.prefixes = spec.architecture->other_prefixes;
  std::set<std::string> trained;
  if (spec.trains_mtp) {
    for (const ParameterShape& parameter : in_folder(as_stored_in(folder, mtp_parameters(spec))))
      trained.insert(parameter.name);
    form.copies = mtp_copies(spec);
  }
  for (const TensorEntry& entry : folder.entries())
    if (is_kept(spec, entry.name) && !trained.contains(entry.name))
      form.kept.emplace_back(entry.name, folder.read(entry.name));
  if (spec.architecture->may_transpose_experts)
    for (const ParameterShape& parameter : as_stored_in(folder, backbone_parameters(spec)))
      if (parameter.fused.is_transposed) form.transposed.insert(parameter.fused.name);
  return form;
}

HfFolder open_renamed(const std::filesystem::path& folder, const Architecture& architecture) {
  HfFolder opened = HfFolder::open(base_folder(folder));
  opened.rename(architecture.other_prefixes);
  return opened;
}

HfFolder open_weights(const std::filesystem::path& folder, const ModelSpec& spec) {
  HfFolder opened = open_renamed(folder, *spec.architecture);
  const std::string embedding = spec.architecture->weights.embedding + ".weight";
  const std::string head = spec.architecture->weights.lm_head + ".weight";
  const auto stand_in = [&](const std::string& name, const std::string& other) {
    if (!opened.find(name) && opened.find(other)) opened.read_as(name, other);
  };
  if (spec.tied_head) stand_in(embedding, head);
  if (spec.unties_head) stand_in(head, embedding);
  return opened;
}

bool is_derived_buffer(const std::string& name) {
  return name.ends_with(".rotary_emb.inv_freq");
}

}  // namespace roll
