// Reads special tokens from the optional JSON files beside tokenizer.json, for Tokenizer and ChatTemplate.
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
  std::string name;      // "bos_token"
  std::string spelling;  // "<s>"
  std::string place;     // for messages: "FILE: bos_token"
};

/// Reads the named tokens like transformers: special_tokens_map.json overrides tokenizer_config.json, but is ignored if
/// the latter has added_tokens_decoder. A null in special_tokens_map.json removes the token that tokenizer_config.json
/// gives. Throws UserError if a file is malformed.
std::vector<NamedToken> read_named_tokens(const std::filesystem::path& folder);

/// End tokens and added tokens that the files beside tokenizer.json give.
struct SpecialTokens {
  /// Spelling of eos_token from read_named_tokens(). If that has none, the one in special_tokens_map.json, even if
  /// read_named_tokens() ignores the file. Nullopt: neither has it.
  std::optional<std::string> eos;
  std::string eos_place;  // for messages: "FILE: eos_token"
  /// eos_token_id of generation_config.json, else of config.json; empty: neither has it.
  std::vector<int64_t> eos_ids;
  /// Entries of `added_tokens_decoder` in tokenizer_config.json, in order of ids.
  std::vector<AddedToken> added;
};

/// Reads the files that the folder has. Throws UserError if one is malformed.
SpecialTokens read_special_tokens(const std::filesystem::path& folder);

}  // namespace roll
