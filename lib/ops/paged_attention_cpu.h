// Attention over keys and values that lie in pages, on the CPU. A query's result depends, to the bit, on its own keys
// alone: not on which pages hold them, on the queries beside it, or on whether they were computed with it or before.
// Legend: P pages, Hkv key/value heads, D head size, W tokens of a strip.
#pragma once

#include <c10/util/BFloat16.h>

#include <cstdint>
#include <span>
#include <vector>

namespace roll {

/// Keys and values of one layer, T float or bfloat16. Keys lie in strips of W tokens, [P, Hkv, page_size / W, D, W], so
/// that a query meets W of them at once; values are [P, Hkv, page_size, D], which is strips of W tokens too.
template <class T>
struct KvPages {
  T *keys = nullptr, *values = nullptr;
  int64_t page_size = 16;  // tokens; a multiple of 8
  int64_t kv_heads = 0, head_dim = 0;

  int64_t page_elements() const { return page_size * kv_heads * head_dim; }  // of keys; values have as many
};

/// Puts a token's k and v, [Hkv, D] each, where `position` lies. `table`: the sequence's pages.
template <class T>
void store_token(const KvPages<T>& pages, const int32_t* table, int64_t position, const float* k, const float* v);

/// A query that sees the tokens `first` .. `length` - 1 of its sequence.
template <class T>
struct PagedQuery {
  const float* q;  // [D], scaled
  T* out;          // [D]
  int64_t length, first = 0;
};

/// Memory of one thread.
template <class T>
struct AttentionScratch {
  std::vector<float> scores;
  std::vector<const T*> keys, values;
};

/// All queries are of one sequence, whose pages `table` names, and one key/value head. Neighbours of equal length cost
/// less than others. `cap`: as ScoreRule's (attention.h).
template <class T>
void attend_pages(const KvPages<T>& pages, const int32_t* table, int64_t kv_head,
                  std::span<const PagedQuery<T>> queries, AttentionScratch<T>& scratch, float cap = 0);

}  // namespace roll
