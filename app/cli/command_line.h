// The command line as data, read from CLI11's declarations: for completion scripts and the manual page.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace roll {

struct ArgumentInfo {
  std::vector<std::string> names;  // "-n", "--config"; of a positional, its one name
  std::string doc;
  std::string type;                  // "TEXT", "INT"; empty: a flag without value
  std::vector<std::string> choices;  // all values that it takes; empty: others too
  std::string value;                 // its default; empty: none
  bool is_required = false;

  /// Whether a file may be meant: a text that is no number and of which nothing else is known.
  bool may_be_file() const;
};

struct CommandInfo {
  std::string name, doc, footer;  // "train"; of a subcommand's subcommand "data check"
  std::vector<ArgumentInfo> flags, positionals;
  std::vector<std::string> subcommands;  // "check"

  /// Whether it takes key=value pairs.
  bool takes_overrides() const;
};

/// All subcommands, and theirs, by name.
std::vector<CommandInfo> commands_of(const CLI::App& app);

}  // namespace roll
