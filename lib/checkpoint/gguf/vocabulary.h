// Reads the tokens of a GGUF file, for tokenizer_files(); what its writer (tokenizer_metadata.h) shares.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/gguf/gguf_file.h"

namespace roll::gguf {

inline constexpr const char* kSpace = "\xE2\x96\x81";  // U+2581, SentencePiece's space

/// Beginnings of keys: of the tokenizer, and of chat templates.
inline const std::string kIds = "tokenizer.ggml.", kTemplate = "tokenizer.chat_template";

/// Kinds of tokens; the values are the codes in the list tokenizer.ggml.token_type.
enum class TokenKind { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };

/// Score above all others, for tokens without a true score in the file: user-defined ones.
inline constexpr double kBestScore = std::numeric_limits<double>::max();

struct StoredToken {
  std::string text;
  TokenKind kind = TokenKind::kNormal;
  double score = 0;  // SentencePiece's score; merges of greater scores come first
};

/// Returns the tokens by id, without unused ones at the end; empty if the file has no tokens. Throws UserError if the
/// list of kinds or scores has another length, a kind is unknown, a score is not finite, or a text occurs twice.
std::vector<StoredToken> read_tokens(const File& file);

/// Returns the token id that the key holds; nullopt if the file lacks the key. Throws UserError unless it is a whole
/// number from 0 to num_tokens - 1.
std::optional<int64_t> token_id(const File& file, const std::string& key, size_t num_tokens);

/// Returns the merges of a BPE tokenizer, made from SentencePiece's tokens: pairs (left, right) of tokens that together
/// are a token. They are in order of use, which follows from the merged tokens' scores and ids.
std::vector<std::pair<std::string, std::string>> merges_by_score(const std::vector<StoredToken>& tokens);

}  // namespace roll::gguf
