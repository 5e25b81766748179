// --max-length: how long sequences may be, by which a model with LongRoPE turns its heads.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <string>

namespace roll {

/// `otherwise`: what 0 stands for.
void add_max_length(CLI::App& sub, int64_t& max_length, const std::string& otherwise);

/// `max_length`, if the model of that folder has so many positions. UserError.
int64_t checked_length(const std::filesystem::path& model, int64_t max_length);

}  // namespace roll
