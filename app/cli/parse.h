// Parses the command line by CLI11, with messages of our own that suggest what a mistyped word meant.
#pragma once

#include <CLI/CLI.hpp>

namespace roll {

/// Parses and runs the chosen subcommand. Returns 0 after --help and --version. UserError: unknown subcommands and
/// flags (with the nearest known one), values that do not fit, missing flags.
int parse_and_run(CLI::App& app, int argc, char** argv);

}  // namespace roll
