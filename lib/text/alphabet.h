// The symbols that a word begins with before byte pairs are merged: its bytes (byte-level BPE, as GPT-2), or its
// characters (as SentencePiece), of which those that the vocabulary lacks may fall back to tokens of single bytes.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace roll {

struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
};

/// Spelling in the file -> id.
using Vocabulary = std::unordered_map<std::string, int32_t, StringHash, std::equal_to<>>;

enum class SymbolKind { kBytes, kCharacters };

/// How the file spells the token of a single byte: "<0x0A>".
std::string byte_token(unsigned char byte);
/// The byte of such a token; empty for any other one.
std::optional<unsigned char> byte_of_token(std::string_view spelling);

struct AlphabetRules {
  SymbolKind kind = SymbolKind::kBytes;
  bool byte_fallback = false;  // a character without a token becomes those of its bytes, if all of these exist
  std::string unk_token = {};  // what else is unknown becomes this token, or nothing where there is no such token
  bool fuse_unk = false;       // neighbours that are unknown share one
};

class Alphabet {
 public:
  Alphabet() = default;
  Alphabet(const Vocabulary& vocabulary, const AlphabetRules& rules);

  /// Replaces `symbols` by the ids that `word` begins with.
  void read(std::string_view word, std::vector<int32_t>& symbols) const;

  /// Notes that these two tokens may be merged.
  void note_merge(std::string_view left, std::string_view right);

  /// Bytes of `word` up to the first border that no merge crosses. Both sides of it can be encoded apart, so that
  /// words without a pre-tokenizer, which are whole texts, cost no more than others. Bytes: all of `word`.
  size_t independent_prefix(std::string_view word) const;

 private:
  /// More characters than these before one count as any.
  static constexpr size_t kMaxBefore = 3;
  struct Character {
    int32_t id = -1;         // -1: not in the vocabulary
    uint8_t num_before = 0;  // characters before it across which a merge may join, kMaxBefore + 1: any
    std::array<char32_t, kMaxBefore> before{};
  };

  class Reader;
  const Character& character(char32_t c) const;
  bool joins(char32_t before, char32_t c) const;

  AlphabetRules rules_;
  int32_t unk_id_ = -1;
  std::array<int32_t, 256> byte_ids_{};     // of kBytes; -1: not in the vocabulary
  std::array<int32_t, 256> byte_tokens_{};  // with byte_fallback; -1: not in the vocabulary
  std::vector<Character> characters_;       // of kCharacters, by code point
  bool is_cut_ = true;                      // no merge is of tokens that stand for other characters than they spell
};

}  // namespace roll
