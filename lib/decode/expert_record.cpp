#include "decode/expert_record.h"

#include <algorithm>

#include "model/mixture.h"

namespace roll {

ExpertRecord::ExpertRecord(const ModelSpec& spec, const DecoderSizes& sizes)
    : width_(sizes.records_experts ? choices_per_token(spec) : 0),
      page_size_(sizes.page_size),
      experts_(static_cast<size_t>(sizes.num_pages * sizes.page_size * width_)) {}

void ExpertRecord::copy_page(int64_t from, int64_t to) {
  const int64_t size = page_size_ * width_;
  std::copy_n(experts_.begin() + from * size, size, experts_.begin() + to * size);
}

std::vector<int16_t> ExpertRecord::sequence_experts(const int32_t* pages, int64_t length) const {
  std::vector<int16_t> result;
  result.reserve(static_cast<size_t>(length * width_));
  for (int64_t position = 0; position < length; ++position) {
    const auto token_entries = experts_.begin() + row_index(pages, position) * width_;
    result.insert(result.end(), token_entries, token_entries + width_);
  }
  return result;
}

}  // namespace roll
