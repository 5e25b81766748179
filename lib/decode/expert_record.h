// Which experts the tokens in a cache went through. It lies in pages as their keys and values do, and so is shared,
// copied and forgotten with them.
#pragma once

#include <cstdint>
#include <vector>

#include "decode/decoder.h"

namespace roll {

struct ModelSpec;

class ExpertRecord {
 public:
  /// Keeps nothing of a model without experts, and where sizes.records_experts is false.
  ExpertRecord(const ModelSpec& spec, const DecoderSizes& sizes);

  bool is_kept() const { return width_ > 0; }
  /// Numbers of a token: choices_per_token(), mixture after mixture; 0: nothing is kept.
  int64_t width() const { return width_; }
  /// [width]
  int16_t* of(const DecoderRow& row) { return numbers_.data() + place(row.pages, row.position) * width_; }
  void copy_page(int64_t from, int64_t to);
  /// Of the first `length` tokens of the sequence in these pages: [length, width].
  std::vector<int16_t> of_sequence(const int32_t* pages, int64_t length) const;

 private:
  int64_t place(const int32_t* pages, int64_t position) const {
    return pages[position / page_size_] * page_size_ + position % page_size_;
  }

  int64_t width_, page_size_;
  std::vector<int16_t> numbers_;  // [pages, page size, width]
};

}  // namespace roll
