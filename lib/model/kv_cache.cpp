#include "model/kv_cache.h"

#include <ATen/ATen.h>

#include "base/error.h"

namespace roll {

KvCache::KvCache(const ModelSpec& spec, int64_t num_slots, int64_t max_length, at::ScalarType dtype, at::Device device)
    : max_length_(max_length), lengths_(num_slots, 0) {
  const auto options = at::TensorOptions().dtype(dtype).device(device);
  for (int64_t layer = 0; layer < spec.num_layers; ++layer) {
    keys_.push_back(at::empty({num_slots, max_length, spec.num_kv_heads, spec.head_dim}, options));
    values_.push_back(at::empty_like(keys_.back()));
  }
}

int64_t KvCache::bytes(const ModelSpec& spec, int64_t num_slots, int64_t max_length, at::ScalarType dtype) {
  const auto element = static_cast<int64_t>(at::elementSize(dtype));
  return 2 * spec.num_layers * num_slots * max_length * spec.num_kv_heads * spec.head_dim * element;
}

void KvCache::copy_slot(int64_t from, at::IntArrayRef to) {
  const int64_t length = lengths_[from];
  for (const int64_t slot : to) {
    ROLL_CHECK_EQ(lengths_[slot], 0, "a copy goes to an empty slot");
    for (auto* tensors : {&keys_, &values_})
      for (at::Tensor& cache : *tensors)
        cache.select(0, slot).slice(0, 0, length).copy_(cache.select(0, from).slice(0, 0, length));
    lengths_[slot] = length;
  }
}

void KvCache::set_length(int64_t slot, int64_t length) {
  ROLL_CHECK(length >= 0 && length <= max_length_, "the sequence fits its slot");
  lengths_[slot] = length;
}

}  // namespace roll
