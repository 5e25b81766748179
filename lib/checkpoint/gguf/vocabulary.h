// The tokens of a GGUF file, by id.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/gguf/gguf_file.h"

namespace roll::gguf {

/// Kinds of tokens, by their codes in tokenizer.ggml.token_type.
enum class TokenKind { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };

/// Score of tokens whose own one the file does not have.
inline constexpr double kBestScore = std::numeric_limits<double>::max();

struct StoredToken {
  std::string text;
  TokenKind kind = TokenKind::kNormal;
  double score = 0;
};

/// Returns the tokens, without unused ones at the end. UserError: a list has another length, or a text occurs twice.
std::vector<StoredToken> read_tokens(const File& file);

/// Returns the id under `key`. UserError: it is no token's.
std::optional<int64_t> token_id(const File& file, const std::string& key, size_t num_tokens);

/// Makes the merges of byte pairs from the scores of SentencePiece's tokens, best first.
std::vector<std::pair<std::string, std::string>> merges_by_score(const std::vector<StoredToken>& tokens);

}  // namespace roll::gguf
