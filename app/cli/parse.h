// The command line: what a mistyped word most likely meant, and everything else to CLI11.
#pragma once

namespace CLI {
class App;
}

namespace roll {

/// Parses and runs the chosen subcommand. Returns 0 after --help and --version. UserError: unknown subcommands and
/// flags (with the nearest known one), values that do not fit, missing flags.
int parse_and_run(CLI::App& app, int argc, char** argv);

}  // namespace roll
