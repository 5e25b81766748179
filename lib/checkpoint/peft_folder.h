// Reads and writes a folder of PEFT's LoRA adapters: adapter_config.json, which names the base model, and
// adapter_model.safetensors. In the file, tensor names begin with "base_model.model."; names of this interface lack
// that prefix. It knows no model architecture.
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

/// Removes PEFT's infix for modules that are trained in full: "lm_head.modules_to_save.weight" -> "lm_head.weight".
/// Parameters of our models have the infix; tensors in the file do not.
std::string without_saved_infix(const std::string& name);

class PeftFolder {
 public:
  /// Reads adapter_config.json and the header of the weights. If one tensor stacks the adapters of all experts of a
  /// layer (PEFT's form for transformers 5), they appear as separate adapters of each expert. Throws UserError if a
  /// file is missing or malformed, a name lacks the prefix, or stacked adapters have another form.
  explicit PeftFolder(const std::filesystem::path& folder);

  const Json& config() const { return config_; }
  /// Return the files' paths, for messages.
  std::string config_file() const;
  std::string weights_file() const;
  /// Returns the names of all tensors, without prefix and infix: in the file's order, with the experts' separated
  /// adapters at the end.
  std::vector<std::string> names() const;
  /// Returns the tensor's name, dtype and shape, under its name with or without the infix; nullptr if there is no such
  /// tensor.
  const TensorEntry* find(const std::string& name) const;
  /// Returns the tensor as stored, on the CPU; accepts its name with or without the infix. Throws UserError if there is
  /// no such tensor, or if an expert's gate_proj and up_proj share an adapter.
  at::Tensor read(const std::string& name) const;

 private:
  std::filesystem::path path_;
  Json config_;
  SafetensorsFile file_;
  struct Part {
    at::Tensor values;
    std::vector<at::Tensor> zeros;  // elements of the stacked tensor that must be 0, else gate and up share an adapter
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
/// content of adapter_config.json. `tensors`: the trained tensors under our models' names, with the infix where they
/// have it. Throws SystemError if writing fails.
FileSums write_peft_files(const std::filesystem::path& folder, const Json& config, const NamedTensors& tensors,
                          const Companions& companions);

}  // namespace roll
