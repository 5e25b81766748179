// Encodes one word by byte-pair encoding (Sennrich et al. 2016); used by Tokenizer. Starts from bytes or characters
// (alphabet.h), and repeatedly merges the adjacent pair with the lowest rank, leftmost first.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/alphabet.h"
#include "text/json_view.h"

namespace roll {

/// Cache of encoded words with a fixed size; new words replace old ones. Use one per thread and BytePairs.
class WordCache {
 public:
  WordCache();

  static constexpr size_t kMaxBytes = 23, kMaxIds = 9;  // longer words, or words with more ids, are not cached

  /// An encoded word; fills one cache line.
  struct alignas(64) Slot {
    std::array<uint64_t, 3> key{};       // bytes 0 to 22: the word, padded with zeros; byte 23: its length
    int32_t num_ids = 0;                 // length of `ids`
    std::array<int32_t, kMaxIds> ids{};  // token ids
  };

  /// Returns the only slot that may hold the word with this key (the format of Slot::key). If slot.key differs from
  /// `key`, the word is not cached, and the caller may overwrite the slot.
  Slot& find_slot(const std::array<uint64_t, 3>& key);

  std::vector<int32_t> symbols;  // scratch space of BytePairs::encode()

 private:
  std::vector<Slot> slots_;
};

/// The BPE model of a tokenizer.json; immutable. With the file's option ignore_merges, a word of the vocabulary becomes
/// its token without merges.
class BytePairs {
 public:
  /// Reads the `model` section of a tokenizer.json. kind: PreTokenizer::symbols(). Throws UserError if the type is not
  /// BPE, dropout or subword affixes are set, an id is used twice, or a merge needs a token that the vocabulary lacks.
  BytePairs(const JsonView& json, SymbolKind kind);

  const Vocabulary& vocabulary() const { return vocabulary_; }

  /// Appends the token ids of `word` (valid UTF-8) to `ids`. AlphabetRules defines the ids of characters missing from
  /// the vocabulary. Thread-safe if each thread has its own `cache`.
  void encode(std::string_view word, WordCache& cache, std::vector<int64_t>& ids) const;

 private:
  struct Merge {
    uint64_t pair = kNoPair;  // left id << 32 | right id
    uint32_t rank = 0;        // position in the file; lower ranks are merged first
    int32_t id = 0;           // id of the merged token
  };
  static constexpr uint64_t kNoPair = ~uint64_t{0};
  struct LongWord;

  std::string spell(int32_t id) const;
  void read_vocabulary(const JsonView& json, SymbolKind kind);
  void read_merges(const JsonView& json);
  void add_merge(int32_t left, int32_t right, uint32_t rank, int32_t id);
  const Merge* find_merge(int32_t left, int32_t right) const;
  uint32_t merge_rank(int32_t left, int32_t right) const;

  void encode_part(std::string_view word, WordCache& cache, std::vector<int64_t>& ids) const;
  void merge_word(std::string_view word, std::vector<int32_t>& symbols) const;
  void merge_short(std::vector<int32_t>& symbols) const;
  void merge_long(std::vector<int32_t>& symbols) const;

  Vocabulary vocabulary_;
  Vocabulary whole_words_;  // by decoded text; only with ignore_merges
  Alphabet alphabet_;
  std::vector<Merge> merges_;  // hash table by `pair`: open addressing, a power of two of slots
  bool ignore_merges_ = false;
};

}  // namespace roll
