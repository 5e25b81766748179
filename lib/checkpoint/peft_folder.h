// Reads and writes a folder of PEFT adapters: adapter_config.json, which names the base model, and
// adapter_model.safetensors. In the file, names of tensors begin with "base_model.model."; here they have the model's
// names, without that prefix. Knows no architecture.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "checkpoint/base_folder.h"
#include "checkpoint/hf_folder.h"

namespace roll {

/// Returns the name without PEFT's infix for modules that are trained in full: "lm_head.modules_to_save.weight" ->
/// "lm_head.weight". The model's names have the infix, those in the file do not.
std::string without_saved_infix(const std::string& name);

class PeftFolder {
 public:
  /// Reads adapter_config.json and the header of the weights. Stacked adapters of all experts of a layer (PEFT's form
  /// for transformers 5) appear as separate adapters of each expert. Throws UserError if a file is missing or
  /// malformed, or stacked adapters have another form.
  explicit PeftFolder(const std::filesystem::path& folder);

  const Json& config() const { return config_; }
  /// Return the files' paths, for messages.
  std::string config_file() const;
  std::string weights_file() const;
  /// Returns the names of all tensors, without the infix: in the file's order, with split adapters of experts at the
  /// end.
  std::vector<std::string> names() const;
  /// Returns the tensor's name, dtype and shape, under its name with or without the infix; nullptr if there is no such
  /// tensor.
  const TensorEntry* find(const std::string& name) const;
  /// Returns the tensor as stored, on the CPU. Throws UserError if there is no such tensor, or it is a split adapter
  /// whose stacked form mixes gate and up.
  at::Tensor read(const std::string& name) const;

 private:
  std::filesystem::path path_;
  Json config_;
  SafetensorsFile file_;
  struct Part {
    at::Tensor values;
    std::vector<at::Tensor> zeros;  // neighbouring elements, which must be 0
  };
  void leave_out(const std::string& name);
  void add_part(const std::string& name, Part part);
  void leave_out_tied_copies();
  void split_stacked();
  void split(const std::string& module, const std::string& stored, const std::vector<std::string>& products);

  std::vector<TensorEntry> entries_;   // under the names of the model
  std::map<std::string, Part> parts_;  // views of stacked adapters, per expert
};

/// Writes both files and the companions into the existing `folder`; returns their checksums by file name. `config`:
/// content of adapter_config.json; `tensors`: the adapters under the model's names. Throws SystemError if writing
/// fails.
FileSums write_peft_files(const std::filesystem::path& folder, const Json& config, const NamedTensors& tensors,
                          const Companions& companions);

}  // namespace roll
