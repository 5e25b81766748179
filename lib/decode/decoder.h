// The transformer over some tokens of many sequences whose keys and values lie in pages: what sampling is made of.
// Legend: N rows (tokens), B sequences, V vocabulary, P pages, Hkv key/value heads, D head size.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace roll {

class ExpertRecord;
class Transformer;

/// Pages that hold so many tokens.
constexpr int64_t pages_for(int64_t tokens, int64_t page_size) {
  return (tokens + page_size - 1) / page_size;
}

struct DecoderSizes {
  int64_t page_size = 16;  // tokens of a page; a multiple of 8
  int64_t num_pages = 0;
  int64_t max_length = 0;        // of a sequence
  int64_t max_rows = 0;          // of one call
  bool int8_weights = false;     // of products; only a CpuDecoder has them
  bool records_experts = false;  // in an ExpertRecord
};

/// A token whose keys and values join its sequence. `pages`: of the sequence, up to this position at least; rows of one
/// sequence stand side by side, positions rising, and share the pointer.
struct DecoderRow {
  int64_t token = 0, position = 0;
  const int32_t* pages = nullptr;
};

/// [rows, V] float32, on the host.
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
  /// Logits of the rows with the listed indices, the same on every tp rank; valid until the next call. Rows see the
  /// tokens of their sequence up to their own, those of this call included. No gradients. **Collective** over tp.
  virtual LogitRows run(std::span<const DecoderRow> rows, std::span<const int64_t> wanted) = 0;
};

/// Bytes of a page: keys, values and states of all layers, on this rank.
int64_t page_bytes(const Transformer& model, int64_t page_size);

/// The fastest for the model's device and dtype, of its weights as they are; `model` must outlive it.
std::unique_ptr<Decoder> make_decoder(const Transformer& model, const DecoderSizes& sizes);

}  // namespace roll
