// Computes attention over a paged KV cache on the CPU, for the CPU decoder. The bits of a query's result depend only on
// its own keys and values. They do not depend on the pages, on other queries, or on when the keys were computed. All
// templates exist for T = float and T = c10::BFloat16, the type of the cache and of the outputs.
// Legend: P pages, Hkv key/value heads, D head size, W consecutive tokens of a page whose keys are stored interleaved
// (16, or 8 if 16 does not divide the page size).
#pragma once

#include <c10/util/BFloat16.h>

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace roll {

/// KV cache of one layer, in memory that the caller owns. keys: [P, Hkv, page_size / W, D, W], so that one vector
/// register holds one element of W keys. values: [P, Hkv, page_size, D]; null: a token's value is the first value_dim
/// elements of its key (latent attention).
template <class T>
struct KvPages {
  T *keys = nullptr, *values = nullptr;
  int64_t page_size = 16;  // tokens per page; a multiple of 8
  int64_t kv_heads = 0, head_dim = 0;
  int64_t value_dim = 0;  // read only if `values` is null

  int64_t page_elements() const { return page_size * kv_heads * head_dim; }  // elements of keys per page, and of values
};

/// Writes a token's k and v, [Hkv, D] each, to the cache; v is not read if the cache has no values. `position`: the
/// token's index in its sequence. `table`: page numbers of its sequence; page table[i] holds positions i * page_size ..
/// (i + 1) * page_size - 1.
template <class T>
void store_token(const KvPages<T>& pages, const int32_t* table, int64_t position, const float* k, const float* v);

/// The query of one token and one head. It sees the tokens at positions first .. length - 1 of its sequence.
template <class T>
struct PagedQuery {
  const float* q;  // [D], already multiplied by the score scale
  T* out;          // [D], or [value_dim] if the cache has no values: attend_pages() writes it
  int64_t length, first = 0;
  float sink = -std::numeric_limits<float>::infinity();  // score of a further key with value 0; -infinity: none
};

/// Scratch memory of one thread, reused between calls; the caller need not set it.
template <class T>
struct AttentionScratch {
  std::vector<float> scores;
  std::vector<const T*> keys, values;
};

/// Writes the attention output of each query. All queries belong to one sequence with the pages `table` (see
/// store_token()), and to heads that share the key/value head kv_head. Adjacent queries of equal `length` are computed
/// in pairs, which is faster; they must have equal `first`. `cap`: scores become cap * tanh(score / cap); 0: no cap.
/// Several threads may call it at once, each with its own scratch.
template <class T>
void attend_pages(const KvPages<T>& pages, const int32_t* table, int64_t kv_head,
                  std::span<const PagedQuery<T>> queries, AttentionScratch<T>& scratch, float cap = 0);

}  // namespace roll
