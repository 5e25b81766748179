// Most words repeat, so a cache with one line per word answers first. Short words scan the ranks; long words use a
// heap, so that no word costs more than n log n.
#include "text/byte_pairs.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <queue>

#include "base/error.h"
#include "text/byte_symbols.h"

namespace roll {

namespace {

constexpr uint32_t kNoRank = std::numeric_limits<uint32_t>::max();
// 1 MiB of slots, about a core's L2 cache; more slots hit more often but cost more each.
constexpr size_t kNumSlots = 1 << 14;
// Up to this length, scanning all ranks is faster than a heap.
constexpr size_t kShortWord = 64;

uint64_t mix(uint64_t x) {
  x *= 0x9E3779B97F4A7C15;
  return x ^ (x >> 29);
}

uint64_t pair_key(int32_t left, int32_t right) {
  return (uint64_t{static_cast<uint32_t>(left)} << 32) | static_cast<uint32_t>(right);
}

std::array<uint64_t, 3> cache_key(std::string_view word) {
  std::array<uint64_t, 3> key{};
  std::memcpy(key.data(), word.data(), word.size());
  key[2] |= uint64_t{word.size()} << 56;
  return key;
}

}  // namespace

WordCache::WordCache() : slots_(kNumSlots) {}

WordCache::Slot& WordCache::find_slot(const std::array<uint64_t, 3>& key) {
  return slots_[mix(mix(mix(key[0]) ^ key[1]) ^ key[2]) >> (64 - std::countr_zero(kNumSlots))];
}

BytePairs::BytePairs(const JsonView& json, SymbolKind kind) {
  if (const auto type = json.get("type"); type && type->string() != "BPE")
    type->fail("unsupported model; supported: BPE, byte-level or with byte_fallback (as in SentencePiece)");
  json.only("dropout", {0}, "must be null: random merges (BPE dropout) are not supported");
  json.only("continuing_subword_prefix", {""}, "must be empty: no supported model family uses it");
  json.only("end_of_word_suffix", {""}, "must be empty: no supported model family uses it");
  ignore_merges_ = json.boolean_or("ignore_merges", false);
  read_vocabulary(json.at("vocab"), kind);
  const auto unk = json.get("unk_token");
  alphabet_ = Alphabet(vocabulary_, {.kind = kind,
                                     .byte_fallback = json.boolean_or("byte_fallback", false),
                                     .unk_token = unk ? unk->string() : "",
                                     .fuse_unk = json.boolean_or("fuse_unk", false)});
  read_merges(json.at("merges"));
}

std::string BytePairs::spell(int32_t id) const {
  return std::ranges::find(vocabulary_, id, &Vocabulary::value_type::second)->first;
}

void BytePairs::read_vocabulary(const JsonView& json, SymbolKind kind) {
  std::vector<bool> is_used;
  vocabulary_.reserve(json.object().size());
  for (const auto& [token, id] : json.value().items()) {
    if (!is_token_id(id)) json.at(token).id();
    const auto value = id.get<int32_t>();
    if (static_cast<size_t>(value) >= is_used.size()) is_used.resize(2 * static_cast<size_t>(value) + 1);
    if (is_used[value]) json.at(token).fail(fmt::format("token '{}' has this id too; ids must differ", spell(value)));
    is_used[value] = true;
    vocabulary_.emplace(token, value);
    if (!ignore_merges_) continue;
    auto word = kind == SymbolKind::kBytes ? unspell_bytes(token) : token;
    if (word) whole_words_.emplace(*std::move(word), value);
  }
}

void BytePairs::read_merges(const JsonView& json) {
  merges_.resize(std::bit_ceil(2 * json.array().size() + 2));
  uint32_t rank = 0;
  for (size_t i = 0; i < json.size(); ++i) {
    const FileJson& merge = json.value()[i];  // 500,000 JsonViews would take a second
    std::string left, right;
    if (merge.is_array()) {
      if (merge.size() != 2) json.at(i).fail("a merge is two tokens");
      for (size_t k = 0; k < 2; ++k)
        if (!merge[k].is_string()) json.at(i).at(k).string();
      left = merge[0].get_ref<const std::string&>();
      right = merge[1].get_ref<const std::string&>();
    } else {
      const std::string& text = merge.is_string() ? merge.get_ref<const std::string&>() : json.at(i).string();
      if (text.starts_with("#version")) continue;  // the header line of an old merges.txt
      const size_t space = text.find(' ');
      if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos)
        json.at(i).fail("a merge is two tokens with one space between them");
      left = text.substr(0, space);
      right = text.substr(space + 1);
    }
    const auto find_id = [&](const std::string& token) {
      const auto entry = vocabulary_.find(token);
      if (entry == vocabulary_.end())
        json.at(i).fail(fmt::format("token '{}' is not in model.vocab; the file is damaged, fetch it again", token));
      return entry->second;
    };
    add_merge(find_id(left), find_id(right), rank++, find_id(left + right));
    alphabet_.record_merge(left, right);
  }
}

void BytePairs::add_merge(int32_t left, int32_t right, uint32_t rank, int32_t id) {
  const uint64_t pair = pair_key(left, right);
  size_t i = mix(pair) & (merges_.size() - 1);
  while (merges_[i].pair != kNoPair && merges_[i].pair != pair) i = (i + 1) & (merges_.size() - 1);
  merges_[i] = {pair, rank, id};  // the last of duplicate pairs counts, as in HF
}

const BytePairs::Merge* BytePairs::find_merge(int32_t left, int32_t right) const {
  const uint64_t pair = pair_key(left, right);
  for (size_t i = mix(pair) & (merges_.size() - 1); merges_[i].pair != kNoPair; i = (i + 1) & (merges_.size() - 1))
    if (merges_[i].pair == pair) return &merges_[i];
  return nullptr;
}

uint32_t BytePairs::merge_rank(int32_t left, int32_t right) const {
  const Merge* merge = find_merge(left, right);
  return merge ? merge->rank : kNoRank;
}

void BytePairs::encode(std::string_view word, WordCache& cache, std::vector<int64_t>& ids) const {
  for (size_t size = 0; !word.empty(); word.remove_prefix(size)) {
    size = ignore_merges_ ? word.size() : alphabet_.independent_prefix(word);
    encode_part(word.substr(0, size), cache, ids);
  }
}

void BytePairs::encode_part(std::string_view word, WordCache& cache, std::vector<int64_t>& ids) const {
  if (word.size() > WordCache::kMaxBytes) {
    std::vector<int32_t>& symbols = cache.symbols;
    merge_word(word, symbols);
    ids.insert(ids.end(), symbols.begin(), symbols.end());
    return;
  }
  const auto key = cache_key(word);
  WordCache::Slot& slot = cache.find_slot(key);
  if (slot.key != key) {
    std::vector<int32_t>& symbols = cache.symbols;
    merge_word(word, symbols);
    ids.insert(ids.end(), symbols.begin(), symbols.end());
    if (symbols.size() > WordCache::kMaxIds) return;
    slot.key = key;
    slot.num_ids = static_cast<int32_t>(symbols.size());
    std::ranges::copy(symbols, slot.ids.begin());
    return;
  }
  ids.insert(ids.end(), slot.ids.begin(), slot.ids.begin() + slot.num_ids);
}

void BytePairs::merge_word(std::string_view word, std::vector<int32_t>& symbols) const {
  if (ignore_merges_)
    if (const auto whole = whole_words_.find(word); whole != whole_words_.end())
      return symbols.assign(1, whole->second);
  alphabet_.read(word, symbols);
  symbols.size() <= kShortWord ? merge_short(symbols) : merge_long(symbols);
}

void BytePairs::merge_short(std::vector<int32_t>& symbols) const {
  std::array<uint32_t, kShortWord> ranks;  // ranks[i] is that of the pair (i, i + 1)
  size_t n = symbols.size();
  for (size_t i = 0; i + 1 < n; ++i) ranks[i] = merge_rank(symbols[i], symbols[i + 1]);
  while (n > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < n; ++i)
      if (ranks[i] < ranks[best]) best = i;
    if (ranks[best] == kNoRank) break;
    symbols[best] = find_merge(symbols[best], symbols[best + 1])->id;
    --n;
    for (size_t i = best + 1; i < n; ++i) {
      symbols[i] = symbols[i + 1];
      ranks[i - 1] = ranks[i];
    }
    if (best + 1 < n) ranks[best] = merge_rank(symbols[best], symbols[best + 1]);
    if (best > 0) ranks[best - 1] = merge_rank(symbols[best - 1], symbols[best]);
  }
  symbols.resize(n);
}

/// Symbols as a linked list with a heap of candidate pairs; stale candidates are dropped when popped.
struct BytePairs::LongWord {
  struct Candidate {
    uint32_t rank;
    uint32_t position;
    uint64_t pair;
    bool operator>(const Candidate& o) const { return rank != o.rank ? rank > o.rank : position > o.position; }
  };
  static constexpr uint32_t kEnd = std::numeric_limits<uint32_t>::max();

  LongWord(const BytePairs& model, std::vector<int32_t>& symbols) : model_(model), symbols_(symbols) {
    const auto n = static_cast<uint32_t>(symbols.size());
    for (uint32_t i = 0; i < n; ++i) {
      next_.push_back(i + 1 < n ? i + 1 : kEnd);
      previous_.push_back(i > 0 ? i - 1 : kEnd);
    }
    for (uint32_t i = 0; i < n; ++i) consider(i);
  }

  void consider(uint32_t i) {
    if (i == kEnd || next_[i] == kEnd) return;
    const uint32_t rank = model_.merge_rank(symbols_[i], symbols_[next_[i]]);
    if (rank != kNoRank) heap_.push({rank, i, pair_key(symbols_[i], symbols_[next_[i]])});
  }

  bool is_stale(const Candidate& c) const {
    const uint32_t i = c.position;
    return symbols_[i] < 0 || next_[i] == kEnd || pair_key(symbols_[i], symbols_[next_[i]]) != c.pair;
  }

  void join(uint32_t i) {
    const uint32_t removed = next_[i];
    symbols_[i] = model_.find_merge(symbols_[i], symbols_[removed])->id;
    symbols_[removed] = -1;
    next_[i] = next_[removed];
    if (next_[i] != kEnd) previous_[next_[i]] = i;
    consider(previous_[i]);
    consider(i);
  }

  void run() {
    while (!heap_.empty()) {
      const Candidate best = heap_.top();
      heap_.pop();
      if (!is_stale(best)) join(best.position);
    }
    std::erase(symbols_, -1);
  }

  const BytePairs& model_;
  std::vector<int32_t>& symbols_;
  std::vector<uint32_t> next_, previous_;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> heap_;
};

void BytePairs::merge_long(std::vector<int32_t>& symbols) const {
  LongWord(*this, symbols).run();
}

}  // namespace roll
