// Decoder interface: forward pass of a transformer over tokens of many sequences, with a paged cache. Used by sampling
// (lib/rollout), which owns the sequences' page tables. A page holds, for all layers, the keys and values of page_size
// consecutive tokens, and the delta-net states after its last token. A row is a token to compute. Legend: V vocabulary.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace roll {

class ExpertRecord;
class Transformer;

/// Returns the number of pages that `tokens` tokens of a sequence need.
constexpr int64_t pages_for(int64_t tokens, int64_t page_size) {
  return (tokens + page_size - 1) / page_size;
}

/// Sizes and options of a decoder.
struct DecoderSizes {
  int64_t page_size = 16;        // tokens per page; a multiple of 8
  int64_t num_pages = 0;         // pages in the cache, for all sequences together
  int64_t max_length = 0;        // most tokens of a sequence
  int64_t max_rows = 0;          // most tokens per call of run()
  int64_t weight_bits = 0;       // 8, 4: GEMMs read copies of the weights in so many bits; CpuDecoder only
  bool records_experts = false;  // keeps the experts that each cached token was routed to (Decoder::experts())
};

/// A token to compute; run() writes its keys and values to the cache. Rows of one sequence are adjacent, in order of
/// position, and have the same `pages` pointer; rows of other sequences have other pointers.
struct DecoderRow {
  int64_t token = 0, position = 0;  // token id; position in the sequence, from 0
  /// Page table of the sequence, at least up to this position: pages[i] is the page of the tokens at positions
  /// [i page_size, (i + 1) page_size). All earlier tokens must be in the cache or earlier in the same call.
  const int32_t* pages = nullptr;
};

/// View of logits [rows, V] float32, in host memory.
struct LogitRows {
  const float* data = nullptr;
  int64_t stride = 0;  // elements from row to row, at least V

  /// Returns the V logits of row i.
  const float* row(int64_t i) const { return data + i * stride; }
};

/// A model with its cache. Not safe for use by several threads.
class Decoder {
 public:
  virtual ~Decoder() = default;
  /// Copies all contents of page `from` to page `to`, the record of experts included. Affects this rank only.
  virtual void copy_page(int64_t from, int64_t to) = 0;
  /// Returns the experts of the cached tokens; of width 0 unless DecoderSizes::records_experts.
  virtual const ExpertRecord& experts() const = 0;
  /// Computes the rows (at most max_rows) and returns logits: row i of the result belongs to rows[logit_rows[i]]. The
  /// result is valid until the next call, and equal on all tensor-parallel ranks. Attention is causal; rows see earlier
  /// rows of this call. No gradients. **Collective** over the tensor-parallel ranks, with equal arguments.
  virtual LogitRows run(std::span<const DecoderRow> rows, std::span<const int64_t> logit_rows) = 0;
};

/// Returns the bytes of a page of page_size tokens on this rank: keys, values and delta-net states of all layers.
int64_t page_bytes(const Transformer& model, int64_t page_size);

/// Returns a CpuDecoder if has_cpu_decoder(model), else a TensorDecoder; `model` must outlive it. A CpuDecoder copies
/// the current weights, so make another decoder after an update.
std::unique_ptr<Decoder> make_decoder(const Transformer& model, const DecoderSizes& sizes);

}  // namespace roll
