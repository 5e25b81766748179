// What the JSON files beside tokenizer.json say about special tokens. All of them are optional.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "text/added_tokens.h"

namespace roll {

struct SpecialTokens {
  /// Spelling of eos_token, from tokenizer_config.json, else special_tokens_map.json.
  std::optional<std::string> eos;
  std::string eos_place;  // "file: eos_token"
  /// From generation_config.json, else config.json.
  std::vector<int64_t> eos_ids;
  /// `added_tokens_decoder` of tokenizer_config.json, by id.
  std::vector<AddedToken> added;
};

/// UserError: malformed files.
SpecialTokens read_special_tokens(const std::filesystem::path& folder);

}  // namespace roll
