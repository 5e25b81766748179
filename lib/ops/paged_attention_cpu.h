// Paged attention on the CPU, for the CPU decoder. A query's result depends, to the bit, only on its own keys and
// values: not on the pages that hold them, on other queries, or on when the keys were computed.
// Legend: P pages, Hkv key/value heads, D head size, W tokens of a strip.
#pragma once

#include <c10/util/BFloat16.h>

#include <cstdint>
#include <span>
#include <vector>

namespace roll {

/// KV cache of one layer, T float or bfloat16. Keys are [P, Hkv, page_size / W, D, W], so that one vector holds W keys;
/// values are [P, Hkv, page_size, D], also strips of W tokens.
template <class T>
struct KvPages {
  T *keys = nullptr, *values = nullptr;
  int64_t page_size = 16;  // tokens; a multiple of 8
  int64_t kv_heads = 0, head_dim = 0;

  int64_t page_elements() const { return page_size * kv_heads * head_dim; }  // elements of keys, and as many of values
};

/// Writes a token's k and v, [Hkv, D] each, to the cache at `position`. `table`: the sequence's pages.
template <class T>
void store_token(const KvPages<T>& pages, const int32_t* table, int64_t position, const float* k, const float* v);

/// One query head; it sees the tokens `first` .. `length` - 1 of its sequence.
template <class T>
struct PagedQuery {
  const float* q;  // [D], scaled
  T* out;          // [D]
  int64_t length, first = 0;
};

/// Scratch memory of one thread.
template <class T>
struct AttentionScratch {
  std::vector<float> scores;
  std::vector<const T*> keys, values;
};

/// Writes the attention output of each query. All queries share one sequence, whose pages are `table`, and one
/// key/value head. Adjacent queries of equal length are faster. `cap`: see ScoreRule (attention.h).
template <class T>
void attend_pages(const KvPages<T>& pages, const int32_t* table, int64_t kv_head,
                  std::span<const PagedQuery<T>> queries, AttentionScratch<T>& scratch, float cap = 0);

}  // namespace roll
