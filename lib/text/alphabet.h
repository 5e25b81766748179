// Splits a word into its initial symbols, the token ids from which BPE merges start; used by BytePairs. Symbols are
// bytes (byte-level BPE, like GPT-2) or characters (like SentencePiece). With byte fallback, a character missing from
// the vocabulary becomes its bytes.
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

/// Hash for maps that are searched by std::string_view.
struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
};

/// Maps a token's spelling in tokenizer.json to its id.
using Vocabulary = std::unordered_map<std::string, int32_t, StringHash, std::equal_to<>>;

/// Initial symbols: the bytes or the characters of a word.
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

/// Splits words into initial symbols. read() and independent_prefix() are thread-safe.
class Alphabet {
 public:
  Alphabet() = default;
  /// Reads the ids of single symbols from `vocabulary`, which is not kept.
  Alphabet(const Vocabulary& vocabulary, const AlphabetRules& rules);

  /// Sets `symbols` to the token ids of the initial symbols of `word` (valid UTF-8).
  void read(std::string_view word, std::vector<int32_t>& symbols) const;

  /// Records that these two tokens, as spelled in tokenizer.json, may be merged. Call it for every merge before
  /// independent_prefix().
  void record_merge(std::string_view left, std::string_view right);

  /// Returns the length in bytes of the prefix of `word` up to the first boundary that no merge crosses; for kBytes,
  /// the whole length. Prefix and rest can be encoded separately, which keeps long words (no pre-tokenizer) cheap.
  size_t independent_prefix(std::string_view word) const;

 private:
  /// If merges join a character with more predecessors than this, it counts as joined with any.
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
  bool can_cut_ = true;                     // false: merges use byte-fallback or unknown tokens, so no word is cut
};

}  // namespace roll
