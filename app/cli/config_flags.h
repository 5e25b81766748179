// Adds the flags of commands that read a configuration (train, sft, validate-config, ...): the YAML file, and key=value
// overrides.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace roll {

/// Flags that a user may give in place of a configuration file, e.g. --model and --data of `roll train`.
struct InsteadOfFile {
  const char* flags = nullptr;        // how messages call them: "--model M --data ROWS"; nullptr if there are none
  std::function<bool()> are_given{};  // returns true if the user gave one; not called if flags is nullptr
};

/// Adds --config FILE and the positional key=value overrides to the subcommand `sub`. Without --config, a positional
/// that ends in .yaml or .yml is the file. Parsing stores the values in `file` ("" if none is given) and `overrides`,
/// which must outlive `sub`. `help` is the help text of --config. Parsing throws UserError if the file of --config does
/// not exist. A file is mandatory, unless the user gives the flags in `alternative`: parsing throws UserError if
/// neither or both are given.
void add_config_flags(CLI::App& sub, std::string& file, std::vector<std::string>& overrides, const std::string& help,
                      const InsteadOfFile& alternative = {});

/// Returns a hint for the error about `flag`, which `sub` does not have: "; it is a key of the configuration: write
/// key=value". Returns "" if `sub` takes no overrides, or `flag` (--key or --key=value) names no configuration key.
/// Without "=value", the hint shows `next`, the argument after the flag, as the value.
std::string override_hint(const CLI::App& sub, const std::string& flag, const std::string& next);

}  // namespace roll
