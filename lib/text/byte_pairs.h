// Byte-pair encoding of one word (Sennrich et al. 2016): repeatedly merges the adjacent pair with the lowest rank,
// leftmost first, starting from bytes or characters (alphabet.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/alphabet.h"
#include "text/json_view.h"

namespace roll {

/// Cache of encoded words with a fixed size; new words replace old ones. Use one per encoding thread.
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

  /// Returns the only slot in which the word with this key may be. If slot.key differs from `key`, the word is not
  /// cached, and the caller may overwrite the slot.
  Slot& find_slot(const std::array<uint64_t, 3>& key);

  std::vector<int32_t> symbols;  // scratch space of BytePairs::encode()

 private:
  std::vector<Slot> slots_;
};

/// The BPE model of a tokenizer.json.
class BytePairs {
 public:
  /// Reads the `model` section of a tokenizer.json; `kind` follows from the pre-tokenizer. Throws UserError if the type
  /// is not BPE, dropout or subword affixes are set, an id is used twice, or a merge needs a token that the vocabulary
  /// lacks.
  BytePairs(const JsonView& json, SymbolKind kind);

  const Vocabulary& vocabulary() const { return vocabulary_; }

  /// Appends the token ids of `word` to `ids`; alphabet.h says what becomes of characters missing from the vocabulary.
  /// Thread-safe if each thread has its own `cache`.
  void encode(std::string_view word, WordCache& cache, std::vector<int64_t>& ids) const;

 private:
  struct Merge {
    uint64_t pair = kNoPair;
    uint32_t rank = 0;
    int32_t id = 0;
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
  std::vector<Merge> merges_;  // open addressing, power of two
  bool ignore_merges_ = false;
};

}  // namespace roll
