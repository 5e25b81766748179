// Sequences that grow in the pages of a Decoder, for tests: pages are given out in a scattered order.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>

#include <utility>
#include <vector>

#include "decode/decoder.h"
#include "decode/expert_record.h"

namespace roll::test {

class Decoding {
 public:
  Decoding(Decoder& decoder, const DecoderSizes& sizes, int64_t vocab_size, int64_t num_sequences)
      : decoder_(decoder), sizes_(sizes), vocab_size_(vocab_size), sequences_(num_sequences) {
    for (Sequence& sequence : sequences_) sequence.pages.reserve(sizes.num_pages);  // rows point to them
  }

  using Fresh = std::pair<int64_t, std::vector<int64_t>>;  // sequence, new tokens

  /// [fresh, V]: logits behind the last new token of each.
  at::Tensor step(const std::vector<Fresh>& fresh) {
    std::vector<DecoderRow> rows;
    std::vector<int64_t> wanted;
    for (const auto& [which, ids] : fresh) {
      Sequence& sequence = sequences_.at(which);
      for (const int64_t id : ids) {
        if (sequence.length % sizes_.page_size == 0) sequence.pages.push_back(next_page());
        rows.push_back({.token = id, .position = sequence.length++, .pages = sequence.pages.data()});
      }
      wanted.push_back(std::ssize(rows) - 1);
    }
    const LogitRows logits = decoder_.run(rows, wanted);
    return at::from_blob(const_cast<float*>(logits.data), {std::ssize(wanted), vocab_size_}, {logits.stride, 1})
        .clone();
  }

  /// The empty sequence `to` begins as `from`: whole pages are shared, the last one is copied.
  void fork(int64_t from, int64_t to) {
    sequences_[to].length = sequences_[from].length;
    for (const int32_t page : sequences_[from].pages) sequences_[to].pages.push_back(page);
    if (sequences_[from].length % sizes_.page_size == 0) return;
    sequences_[to].pages.back() = next_page();
    decoder_.copy_page(sequences_[from].pages.back(), sequences_[to].pages.back());
  }

  std::vector<int16_t> experts(int64_t which) const {
    return decoder_.experts().sequence_experts(sequences_[which].pages.data(), sequences_[which].length);
  }

 private:
  struct Sequence {
    int64_t length = 0;
    std::vector<int32_t> pages;
  };

  int32_t next_page() {
    return static_cast<int32_t>(num_given_++ * 7 % sizes_.num_pages);
  }  // num_pages is no multiple of 7

  Decoder& decoder_;
  DecoderSizes sizes_;
  int64_t vocab_size_;
  std::vector<Sequence> sequences_;
  int64_t num_given_ = 0;
};

}  // namespace roll::test
