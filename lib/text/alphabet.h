// Initial symbols (token ids) of a word before BPE merges, for BytePairs: its bytes (byte-level BPE, like GPT-2), or
// its characters (like SentencePiece), optionally with byte fallback for characters missing from the vocabulary.
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

/// Maps a token's spelling in tokenizer.json to its id.
using Vocabulary = std::unordered_map<std::string, int32_t, StringHash, std::equal_to<>>;

enum class SymbolKind { kBytes, kCharacters };

/// Returns the spelling in tokenizer.json of the byte-fallback token for a byte: "<0x0A>".
std::string byte_token(unsigned char byte);
/// Returns the byte of a byte-fallback token; nullopt for other tokens.
std::optional<unsigned char> parse_byte_token(std::string_view spelling);

/// Settings of a tokenizer.json's model. A symbol is unknown if the vocabulary lacks it.
struct AlphabetRules {
  SymbolKind kind = SymbolKind::kBytes;
  bool byte_fallback = false;  // an unknown symbol becomes byte-fallback tokens, if there is one for each of its bytes
  std::string unk_token = {};  // token for other unknown symbols; if the vocabulary lacks it, these are dropped
  bool fuse_unk = false;       // consecutive unknown symbols become one unk_token
};

/// Splits words into initial symbols.
class Alphabet {
 public:
  Alphabet() = default;
  Alphabet(const Vocabulary& vocabulary, const AlphabetRules& rules);

  /// Replaces the content of `symbols` by the token ids of the initial symbols of `word`.
  void read(std::string_view word, std::vector<int32_t>& symbols) const;

  /// Records that these two adjacent tokens may be merged. Call it for every merge before independent_prefix().
  void record_merge(std::string_view left, std::string_view right);

  /// Returns the length in bytes of the prefix of `word` up to the first boundary that no merge crosses; for kBytes,
  /// the whole length. Prefix and rest can be encoded separately, which keeps long words (no pre-tokenizer) cheap.
  size_t independent_prefix(std::string_view word) const;

 private:
  /// With more predecessors than this, a character counts as joining with any.
  static constexpr size_t kMaxPredecessors = 3;
  struct Character {
    int32_t id = -1;               // -1: not in the vocabulary
    uint8_t num_predecessors = 0;  // predecessors that a merge may join; kMaxPredecessors + 1: any
    std::array<char32_t, kMaxPredecessors> predecessors{};
  };

  class Reader;
  const Character& character(char32_t c) const;
  bool joins(char32_t previous, char32_t c) const;

  AlphabetRules rules_;
  int32_t unk_id_ = -1;
  std::array<int32_t, 256> byte_ids_{};     // kBytes; -1: not in the vocabulary
  std::array<int32_t, 256> byte_tokens_{};  // with byte_fallback; -1: not in the vocabulary
  std::vector<Character> characters_;       // kCharacters: indexed by code point
  bool can_cut_ = true;  // all merged tokens stand for their own spelling, so prefixes can be cut off
};

}  // namespace roll
