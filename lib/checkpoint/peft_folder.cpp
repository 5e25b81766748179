#include "checkpoint/peft_folder.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"

namespace roll {

namespace fs = std::filesystem;

namespace {

constexpr const char* const kWeightsFile = "adapter_model.safetensors";
constexpr const char *kPeftPrefix = "base_model.model.", *kPeftInfix = ".modules_to_save";
constexpr const char *kHead = "lm_head", *kA = ".lora_A.weight", *kB = ".lora_B.weight";

}  // namespace

std::string without_saved_infix(const std::string& name) {
  const size_t at = name.find(kPeftInfix);
  return at == std::string::npos ? name : name.substr(0, at) + name.substr(at + std::string_view(kPeftInfix).size());
}

PeftFolder::PeftFolder(const fs::path& folder)
    : path_(folder), config_(read_peft_config(folder)), file_(folder / kWeightsFile), entries_(file_.entries()) {
  for (TensorEntry& entry : entries_) {
    if (!entry.name.starts_with(kPeftPrefix))
      throw user_error("{}: {}: a name of an adapter's tensor must begin with {}", weights_file(), entry.name,
                       kPeftPrefix);
    entry.name = entry.name.substr(std::string_view(kPeftPrefix).size());
  }
  leave_out_tied_copies();
  split_stacked();
}

std::string PeftFolder::config_file() const {
  return (path_ / kPeftConfigFile).string();
}

std::string PeftFolder::weights_file() const {
  return (path_ / kWeightsFile).string();
}

std::vector<std::string> PeftFolder::names() const {
  std::vector<std::string> names;
  for (const TensorEntry& entry : entries_) names.push_back(entry.name);
  return names;
}

const TensorEntry* PeftFolder::find(const std::string& name) const {
  const auto found = std::ranges::find(entries_, without_saved_infix(name), &TensorEntry::name);
  return found == entries_.end() ? nullptr : &*found;
}

at::Tensor PeftFolder::read(const std::string& name) const {
  const std::string stored_name = without_saved_infix(name);
  const auto part = parts_.find(stored_name);
  if (part == parts_.end()) return file_.read(kPeftPrefix + stored_name);
  for (const at::Tensor& zeros : part->second.zeros)
    if (zeros.any().item<bool>())
      throw user_error(
          "{}: {}: gate_proj and up_proj share an adapter, but roll needs one for each; merge the adapters with peft",
          weights_file(), name);
  return part->second.values;
}

void PeftFolder::leave_out(const std::string& name) {
  std::erase_if(entries_, [&](const TensorEntry& entry) { return entry.name == name; });
}

void PeftFolder::add_part(const std::string& name, Part part) {
  entries_.push_back({.name = name, .dtype = part.values.scalar_type(), .shape = part.values.sizes().vec()});
  parts_[name] = std::move(part);
}

/// Drops the copy of a tied head that PEFT writes beside the embedding although modules_to_save does not name it.
void PeftFolder::leave_out_tied_copies() {
  const auto named = config_.find("modules_to_save");
  if (named != config_.end() && named->is_array() && std::ranges::find(*named, Json(kHead)) != named->end()) return;
  const std::string head = std::string(kHead) + ".weight";
  const auto is_tied_copy = [&](const TensorEntry& entry) {
    return entry.name.ends_with("embed_tokens.weight") && find(head) && at::equal(read(entry.name), read(head));
  };
  if (find(head) && std::ranges::any_of(entries_, is_tied_copy)) leave_out(head);
}

/// Splits adapters of modules called "experts". PEFT wraps gates and ups first, then downs around them:
/// "experts.base_layer.lora_A.weight" and "experts.lora_A.weight".
void PeftFolder::split_stacked() {
  for (const std::string& name : names()) {
    if (!name.ends_with(kA)) continue;
    const std::string stored = name.substr(0, name.size() - std::string_view(kA).size());
    if (stored.ends_with(".experts")) split(stored, stored, {"down_proj"});
    if (stored.ends_with(".experts.base_layer"))
      split(stored.substr(0, stored.rfind('.')), stored, {"gate_proj", "up_proj"});
  }
}

/// Splits A [E P r, in], ordered by expert, and B [P outputs, P r E], with the experts innermost; P: `products`.
void PeftFolder::split(const std::string& module, const std::string& stored, const std::vector<std::string>& products) {
  const at::Tensor a = read(stored + kA), b = read(stored + kB);
  const auto rank = config_.value("r", Json(8));
  const int64_t num_products = std::ssize(products),
                rows = rank.is_number_integer() ? rank.get<int64_t>() * num_products : 0;
  const bool fits = rows > 0 && a.dim() == 2 && b.dim() == 2 && a.size(0) % rows == 0 && a.size(0) == b.size(1) &&
                    b.size(0) % num_products == 0;
  if (!fits)
    throw user_error(
        "{}: {}: has shapes {} and {}; roll supports experts' adapters only with rank r ({}) and one each for "
        "gate_proj and up_proj; merge the adapters with peft",
        weights_file(), stored, shape_text(a.sizes()), shape_text(b.sizes()), rank.dump());
  const int64_t experts = a.size(0) / rows, r = rows / num_products, outputs = b.size(0) / num_products;
  const at::Tensor by_expert = b.view({b.size(0), rows, experts});
  leave_out(stored + kA);
  leave_out(stored + kB);
  for (int64_t e = 0; e < experts; ++e)
    for (int64_t k = 0; k < num_products; ++k) {
      const std::string product = fmt::format("{}.{}.{}", module, e, products[static_cast<size_t>(k)]);
      const at::Tensor expert_b = by_expert.select(2, e).narrow(0, k * outputs, outputs);
      add_part(product + kA, {.values = a.narrow(0, (e * num_products + k) * r, r), .zeros = {}});
      add_part(product + kB,
               {.values = expert_b.narrow(1, k * r, r),
                .zeros = {expert_b.narrow(1, 0, k * r), expert_b.narrow(1, (k + 1) * r, rows - (k + 1) * r)}});
    }
}

FileSums write_peft_files(const fs::path& folder, const Json& config, const NamedTensors& tensors,
                          const Companions& companions) {
  NamedTensors stored;
  for (const auto& [name, tensor] : tensors)
    stored.emplace_back(kPeftPrefix + without_saved_infix(name), tensor.detach());
  FileSums sums = write_companions(companions, folder);
  sums[kWeightsFile] = write_safetensors(folder / kWeightsFile, stored);
  sums[kPeftConfigFile] = write_file_atomic(folder / kPeftConfigFile, config.dump(2) + "\n");
  return sums;
}

}  // namespace roll
