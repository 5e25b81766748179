// The flag --max-length: longest sequence in tokens. LongRoPE models also select their RoPE factors by it.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <string>

namespace roll {

/// Adds the flag. otherwise: help text for the value 0.
void add_max_length(CLI::App& sub, int64_t& max_length, const std::string& zero_meaning);

/// Returns `max_length`. UserError: the model in the folder has fewer positions.
int64_t checked_length(const std::filesystem::path& model, int64_t max_length);

}  // namespace roll
