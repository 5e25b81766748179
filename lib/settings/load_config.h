// From a YAML file to a checked configuration: everything that can be known before a model is opened is checked here.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "settings/config.h"
#include "settings/distill_config.h"
#include "settings/dpo_config.h"
#include "settings/memory_estimate.h"

namespace roll {

struct LoadOptions {
  std::optional<int64_t> num_ranks;     // -n; unset: the devices of device_mapping, the hostfile's slots, or 1
  bool offline = false;                 // model folders, data files and the hostfile may be absent
  std::optional<std::string> hostfile;  // --hostfile; it wins over the key
  bool is_started = false;              // by mpirun, srun or torchrun: hosts are chosen, the hostfile is not read
};

/// What a configuration is read from.
struct ConfigText {
  std::string yaml, origin;  // origin: what messages call it
  std::vector<std::string> overrides;
};
/// UserError: the file cannot be read.
ConfigText read_config(const std::filesystem::path& file, const std::vector<std::string>& overrides);

template <class T>
struct CheckedConfig {
  T config;                        // complete: see load_config
  ConfigText text;                 // that it was read from
  std::vector<std::string> notes;  // accepted, but worth knowing; to be shown once
  int64_t num_ranks = 1;
  std::string hostfile;              // of --hostfile or the key; "": one host
  std::string plan;                  // the batch arithmetic in words
  std::string loss;                  // what the loss divides by, in words; "" where nothing is trained
  std::string algorithm;             // the published one that it amounts to; "" there, and for `roll sft`
  std::string memory;                // the estimate per rank in words
  std::optional<RoleShapes> models;  // that it was made for, where they are known
};

/// Reads `file`, applies `overrides`, checks. The result has response_length and sequence_length (also those of the
/// validation), the effective loss_agg_mode, data_args.template and messages, model_name_or_path of every role, the
/// type of every reward filled in. UserError names up to ten errors at once, each with file, line and column.
CheckedConfig<Config> load_config(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                                  const LoadOptions& options);
/// The same of a text that messages call `origin`.
CheckedConfig<Config> load_config_text(const std::string& yaml, const std::string& origin,
                                       const std::vector<std::string>& overrides, const LoadOptions& options);
CheckedConfig<SftConfig> load_sft_config(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                                         const LoadOptions& options);

CheckedConfig<DpoConfig> load_dpo_config(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                                         const LoadOptions& options);

CheckedConfig<DistillConfig> load_distill_config(const std::filesystem::path& file,
                                                 const std::vector<std::string>& overrides, const LoadOptions& options);

/// Whose file it is: "sft" where it describes sft_train, "distill" where it describes student, "dpo" where it has keys
/// of `roll dpo` alone and no rewards, else "train".
std::string command_of(const std::filesystem::path& file);
/// What a file of another command than train describes.
std::string described_by(const std::string& command);

/// YAML of every key with its value, or the ${oc.env:NAME} that it came from; reading it gives the same configuration.
std::string resolved_yaml(const Config& config);
std::string resolved_yaml(const SftConfig& config);
std::string resolved_yaml(const DpoConfig& config);
std::string resolved_yaml(const DistillConfig& config);

}  // namespace roll
