// Parses the command line with CLI11 for main(); error messages are our own and suggest corrections.
#pragma once

#include <CLI/CLI.hpp>

namespace roll {

/// Parses main()'s arguments and runs the chosen subcommand's callback. Always returns 0, the exit code, also after
/// --help and --version; lets the callback's exceptions through. Throws UserError if a subcommand or flag is unknown
/// (the message names the nearest one), a value is invalid, or a flag is missing.
int parse_and_run(CLI::App& app, int argc, char** argv);

}  // namespace roll
