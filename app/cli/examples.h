// An example command line for each subcommand, shown at the end of its --help.
#pragma once

#include <CLI/CLI.hpp>

namespace roll {

/// Adds its example to the help of every subcommand without nested subcommands.
void add_examples(CLI::App& app);

}  // namespace roll
