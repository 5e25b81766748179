// The flag --max-length: longest sequence (prompt and response) in tokens. LongRoPE models also select their RoPE
// factors by it. Used by commands that run a model, such as `roll generate` and `roll serve`.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <string>

namespace roll {

/// Adds the flag, which sets `max_length`; its value before parsing is the default. `zero_meaning` says in --help what
/// the value 0 stands for: "the model's positions".
void add_max_length(CLI::App& sub, int64_t& max_length, const std::string& zero_meaning);

/// Returns `max_length` unchanged, also 0. Throws UserError if it exceeds the positions of the model in the folder
/// `model`.
int64_t checked_length(const std::filesystem::path& model, int64_t max_length);

}  // namespace roll
