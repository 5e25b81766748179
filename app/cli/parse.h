// Parses the command line with CLI11; error messages are our own and suggest corrections.
#pragma once

#include <CLI/CLI.hpp>

namespace roll {

/// Parses the arguments and runs the chosen subcommand; returns 0, also after --help and --version. UserError: a
/// subcommand or flag is unknown (the message names the nearest one), a value is invalid, or a flag is missing.
int parse_and_run(CLI::App& app, int argc, char** argv);

}  // namespace roll
