// Reads special tokens from the optional JSON files beside tokenizer.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "text/added_tokens.h"

namespace roll {

/// A special token with a name.
struct NamedToken {
  std::string name, spelling;  // e.g. bos_token, <s>
  std::string place;           // "file: bos_token"
};

/// Reads the named tokens like transformers: special_tokens_map.json overrides tokenizer_config.json, but is ignored if
/// the latter has added_tokens_decoder. A null value removes a name. UserError: a file is malformed.
std::vector<NamedToken> read_named_tokens(const std::filesystem::path& folder);

/// End tokens and added tokens of a model folder.
struct SpecialTokens {
  /// Spelling of eos_token from read_named_tokens(), else from special_tokens_map.json.
  std::optional<std::string> eos;
  std::string eos_place;  // "file: eos_token"
  /// From generation_config.json, else config.json.
  std::vector<int64_t> eos_ids;
  /// `added_tokens_decoder` of tokenizer_config.json, by id.
  std::vector<AddedToken> added;
};

/// Reads all files of the folder. UserError: a file is malformed.
SpecialTokens read_special_tokens(const std::filesystem::path& folder);

}  // namespace roll
