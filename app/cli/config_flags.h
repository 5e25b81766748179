// Flags for a configuration: its file, and overrides of its keys.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace roll {

/// Flags that make a file needless.
struct InsteadOfFile {
  const char* flags = nullptr;  // as one types them
  std::function<bool()> are_given{};
};

/// Adds --config FILE (`roll train FILE.yaml` means it too) and the overrides `key=value`. `help` says whose file it
/// is. The members must live as long as `sub`. UserError while parsing: there is no file and none of `others`, or both.
void add_config_flags(CLI::App& sub, std::string& file, std::vector<std::string>& overrides, const std::string& help,
                      const InsteadOfFile& others = {});

/// "; write key=value" where an unknown flag `--key [value]` of `sub` is a key of the configuration, or "". `next` is
/// the word behind it.
std::string override_for_flag(const CLI::App& sub, const std::string& flag, const std::string& next);

}  // namespace roll
