// What the JSON files beside tokenizer.json say about special tokens. All of them are optional.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "text/added_tokens.h"

namespace roll {

struct NamedToken {
  std::string name, spelling;  // as bos_token, <s>
  std::string place;           // "file: bos_token"
};

/// The tokens that have names, as transformers takes them from these files: special_tokens_map.json goes before
/// tokenizer_config.json, but does not count where that has an added_tokens_decoder; a null is a name without a token.
/// UserError: malformed files.
std::vector<NamedToken> read_named_tokens(const std::filesystem::path& folder);

struct SpecialTokens {
  /// Spelling of eos_token, as read_named_tokens() knows it, else of special_tokens_map.json.
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
