// Decoder interface: forward pass of a transformer over tokens of many sequences with a paged KV cache; used by
// sampling. Legend: N rows (tokens), B sequences, V vocabulary, P pages, Hkv key/value heads, D head size.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace roll {

class ExpertRecord;
class Transformer;

/// Returns the number of pages for `tokens` tokens.
constexpr int64_t pages_for(int64_t tokens, int64_t page_size) {
  return (tokens + page_size - 1) / page_size;
}

struct DecoderSizes {
  int64_t page_size = 16;  // tokens per page; a multiple of 8
  int64_t num_pages = 0;
  int64_t max_length = 0;        // tokens per sequence
  int64_t max_rows = 0;          // tokens per call of run()
  bool int8_weights = false;     // GEMMs read int8 weights; CpuDecoder only
  bool records_experts = false;  // keeps an ExpertRecord
};

/// A token to compute; its keys and values are added to the cache. pages: page table of its sequence, at least up to
/// this position. Rows of one sequence are adjacent, in order of position, and share the pointer.
struct DecoderRow {
  int64_t token = 0, position = 0;
  const int32_t* pages = nullptr;
};

/// View of logits [rows, V] float32, on the host.
struct LogitRows {
  const float* data = nullptr;
  int64_t stride = 0;

  const float* row(int64_t i) const { return data + i * stride; }
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual void copy_page(int64_t from, int64_t to) = 0;
  virtual const ExpertRecord& experts() const = 0;
  /// Computes the rows and returns the logits of rows `logit_rows` (indices), equal on all tp ranks; valid until the
  /// next call. Attention is causal, and rows see earlier rows of this call. No gradients. **Collective** over tp.
  virtual LogitRows run(std::span<const DecoderRow> rows, std::span<const int64_t> logit_rows) = 0;
};

/// Returns the bytes of a page on this rank: keys, values and states of all layers.
int64_t page_bytes(const Transformer& model, int64_t page_size);

/// Returns a CpuDecoder if has_cpu_decoder(), else a TensorDecoder, with the current weights; `model` must outlive it.
std::unique_ptr<Decoder> make_decoder(const Transformer& model, const DecoderSizes& sizes);

}  // namespace roll
