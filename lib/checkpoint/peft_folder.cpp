#include "checkpoint/peft_folder.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"

namespace roll {

namespace fs = std::filesystem;

namespace {

constexpr const char* const kWeightsFile = "adapter_model.safetensors";
constexpr const char *kPeftPrefix = "base_model.model.", *kPeftInfix = ".modules_to_save";

}  // namespace

std::string without_saved_infix(const std::string& name) {
  const size_t at = name.find(kPeftInfix);
  return at == std::string::npos ? name : name.substr(0, at) + name.substr(at + std::string_view(kPeftInfix).size());
}

PeftFolder::PeftFolder(const fs::path& folder)
    : path_(folder), config_(read_peft_config(folder)), file_(folder / kWeightsFile) {}

std::string PeftFolder::config_file() const {
  return (path_ / kPeftConfigFile).string();
}

std::string PeftFolder::weights_file() const {
  return (path_ / kWeightsFile).string();
}

std::string PeftFolder::stored(const std::string& name) const {
  return kPeftPrefix + without_saved_infix(name);
}

std::vector<std::string> PeftFolder::names() const {
  std::vector<std::string> names;
  for (const TensorEntry& entry : file_.entries()) {
    if (!entry.name.starts_with(kPeftPrefix))
      throw user_error("{}: {}: names of adapters begin with {}", weights_file(), entry.name, kPeftPrefix);
    names.push_back(entry.name.substr(std::string_view(kPeftPrefix).size()));
  }
  return names;
}

const TensorEntry* PeftFolder::find(const std::string& name) const {
  const auto found = std::ranges::find(file_.entries(), stored(name), &TensorEntry::name);
  return found == file_.entries().end() ? nullptr : &*found;
}

at::Tensor PeftFolder::read(const std::string& name) const {
  return file_.read(stored(name));
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
