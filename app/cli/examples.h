// An example command line for each subcommand, shown at the end of its --help.
#pragma once

#include <CLI/CLI.hpp>

namespace roll {

/// Appends "Example: roll ..." to the help of every subcommand of `app` that has no subcommands itself. Throws Bug if a
/// subcommand has no example. Called by main(), after all subcommands were added.
void add_examples(CLI::App& app);

}  // namespace roll
