// Byte-pair encoding of one word: starting from its bytes or characters (alphabet.h), the adjacent pair whose merge was
// learned first is joined, the leftmost of equals, until no pair is in the table (Sennrich et al. 2016).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/alphabet.h"
#include "text/json_view.h"

namespace roll {

/// Ids of words met before. Of bounded size: a newer word takes the place of an older one. One per thread that encodes.
class WordCache {
 public:
  WordCache();

  static constexpr size_t kMaxBytes = 23, kMaxIds = 9;

  /// Exactly one cache line: the key is the word, zero-padded, then its length.
  struct alignas(64) Slot {
    std::array<uint64_t, 3> key{};
    int32_t num_ids = 0;
    std::array<int32_t, kMaxIds> ids{};
  };

  /// The slot where `word` (at most kMaxBytes) belongs; its key says whether it is there.
  Slot& slot_of(const std::array<uint64_t, 3>& key);

  std::vector<int32_t> symbols;  // room to work in

 private:
  std::vector<Slot> slots_;
};

class BytePairs {
 public:
  /// The `model` section, of words that begin as symbols of `kind`. UserError: another type than BPE, dropout, subword
  /// affixes, ids used twice, a merge of or into a token that the vocabulary lacks.
  BytePairs(const JsonView& json, SymbolKind kind);

  const Vocabulary& vocabulary() const { return vocabulary_; }

  /// Appends the ids of `word` (not empty). Symbols that the vocabulary lacks become unk_token, or nothing without one,
  /// as HF does.
  void encode(std::string_view word, WordCache& cache, std::vector<int64_t>& ids) const;

 private:
  struct Merge {
    uint64_t pair = kNoPair;
    uint32_t rank = 0;
    int32_t id = 0;
  };
  static constexpr uint64_t kNoPair = ~uint64_t{0};
  struct LongWord;

  std::string spelling_of(int32_t id) const;
  void read_vocabulary(const JsonView& json, SymbolKind kind);
  void read_merges(const JsonView& json);
  void add_merge(int32_t left, int32_t right, uint32_t rank, int32_t id);
  const Merge* find_merge(int32_t left, int32_t right) const;
  uint32_t rank_of(int32_t left, int32_t right) const;

  void encode_part(std::string_view word, WordCache& cache, std::vector<int64_t>& ids) const;
  void merge_word(std::string_view word, std::vector<int32_t>& symbols) const;
  void merge_short(std::vector<int32_t>& symbols) const;
  void merge_long(std::vector<int32_t>& symbols) const;

  Vocabulary vocabulary_;
  Vocabulary whole_words_;  // by what they stand for; with ignore_merges only
  Alphabet alphabet_;
  std::vector<Merge> merges_;  // open addressing, power of two
  bool ignore_merges_ = false;
};

}  // namespace roll
