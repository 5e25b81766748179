// Records the experts that each token in a decoder's KV cache was routed to, on the host. Used for the key
// routing_replay, which trains with the sampler's routing. The record is paged like keys and values, and so is shared,
// copied and evicted with them.
#pragma once

#include <cstdint>
#include <vector>

#include "decode/decoder.h"

namespace roll {

struct ModelSpec;

class ExpertRecord {
 public:
  /// Keeps nothing if the model has no experts or sizes.records_experts is false.
  ExpertRecord(const ModelSpec& spec, const DecoderSizes& sizes);

  /// Returns false if nothing is recorded; entries() must then not be called.
  bool is_kept() const { return width_ > 0; }
  /// Returns the number of entries per token, choices_per_token(spec); 0 if nothing is kept. The entries are, for each
  /// MoE layer in order, the indices of the experts that the token was routed to.
  int64_t width() const { return width_; }
  /// Returns the entries of the row's token, [width()], to be read or written.
  int16_t* entries(const DecoderRow& row) { return experts_.data() + row_index(row.pages, row.position) * width_; }
  /// Copies the entries of page `from` to page `to`.
  void copy_page(int64_t from, int64_t to);
  /// Returns the entries of the first `length` tokens of a sequence, [length, width()]. pages: its page table.
  std::vector<int16_t> sequence_experts(const int32_t* pages, int64_t length) const;

 private:
  int64_t row_index(const int32_t* pages, int64_t position) const {
    return pages[position / page_size_] * page_size_ + position % page_size_;
  }

  int64_t width_, page_size_;
  std::vector<int16_t> experts_;  // [pages, page size, width]
};

}  // namespace roll
