// Describes the command line as data, read from CLI11's declarations; used by `roll completion` and `roll man`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace roll {

/// A flag or a positional argument of a subcommand.
struct ArgumentInfo {
  std::vector<std::string> names;  // all spellings: "-n", "--config"; for a positional its single name, without dashes
  std::string doc;                 // help text
  std::string type;                // CLI11's type name, such as "TEXT" or "INT"; "" for a flag without a value
  std::vector<std::string> choices;  // the only allowed values; empty if any value of the type is allowed
  std::string value;                 // default as shown in --help; "" if there is no default
  bool is_required = false;

  /// Returns true if the value may be a file name: text without choices, range or numeric default.
  bool may_be_file() const;
};

/// A subcommand with its arguments.
struct CommandInfo {
  std::string name;    // full name without "roll": "train", or "data check" for a nested subcommand
  std::string doc;     // help text
  std::string footer;  // text after the flags in --help
  std::vector<ArgumentInfo> flags, positionals;
  std::vector<std::string> subcommands;  // names of direct subcommands, e.g. "check" for `data`

  /// Returns true if the command has the positional `overrides`: key=value pairs that replace configuration values.
  bool takes_overrides() const;
};

/// Returns the subcommands of `app` at all depths, sorted by full name: `data` and `data check` are two entries. Leaves
/// out hidden flags.
std::vector<CommandInfo> list_commands(const CLI::App& app);

}  // namespace roll
