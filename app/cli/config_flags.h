// Flags of commands that read a configuration: the YAML file, and key=value overrides.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace roll {

/// Flags that replace the file, e.g. --model and --data.
struct InsteadOfFile {
  const char* flags = nullptr;  // text for messages
  std::function<bool()> are_given{};
};

/// Adds --config FILE (`roll train FILE.yaml` works too) and the key=value overrides. help: text of --config. `file`
/// and `overrides` must outlive `sub`. UserError while parsing: neither or both of a file and `alternative` are given,
/// or the file is missing.
void add_config_flags(CLI::App& sub, std::string& file, std::vector<std::string>& overrides, const std::string& help,
                      const InsteadOfFile& alternative = {});

/// Returns the hint "; ... write key=value" if the unknown flag `--key [value]` of `sub` is a configuration key, else
/// "". next: the word after the flag.
std::string override_for_flag(const CLI::App& sub, const std::string& flag, const std::string& next);

}  // namespace roll
