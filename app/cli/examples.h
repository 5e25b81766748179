// One command line for each subcommand, that works where its files are there: the end of its --help.
#pragma once

#include <CLI/CLI.hpp>

namespace roll {

/// Ends the help of every subcommand that has no further ones with its example.
void add_examples(CLI::App& app);

}  // namespace roll
