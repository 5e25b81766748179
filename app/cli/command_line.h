// Describes the command line as data, read from CLI11's declarations; used by `roll completion` and `roll man`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace roll {

struct ArgumentInfo {
  std::vector<std::string> names;  // "-n", "--config"; a positional has one name
  std::string doc;
  std::string type;                  // "TEXT", "INT"; empty: a flag without value
  std::vector<std::string> choices;  // the only allowed values; empty: not a choice
  std::string value;                 // default; empty: none
  bool is_required = false;

  /// Returns true if the value may be a file name: text without choices, range or numeric default.
  bool may_be_file() const;
};

struct CommandInfo {
  std::string name, doc, footer;  // "train", or "data check" for a nested subcommand
  std::vector<ArgumentInfo> flags, positionals;
  std::vector<std::string> subcommands;  // "check"

  /// Returns true if the command takes key=value pairs.
  bool takes_overrides() const;
};

/// Returns all subcommands, including nested ones, sorted by name.
std::vector<CommandInfo> list_commands(const CLI::App& app);

}  // namespace roll
