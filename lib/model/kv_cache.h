// Keys and values of the sequences being sampled: one slot each, in place, never re-packed.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "model/spec.h"

namespace roll {

class KvCache {
 public:
  /// Empty slots for sequences of at most `max_length` tokens.
  KvCache(const ModelSpec& spec, int64_t num_slots, int64_t max_length, at::ScalarType dtype = at::kFloat,
          at::Device device = at::kCPU);

  /// Memory that such a cache takes.
  static int64_t bytes(const ModelSpec& spec, int64_t num_slots, int64_t max_length, at::ScalarType dtype);

  int64_t num_slots() const { return static_cast<int64_t>(lengths_.size()); }
  int64_t max_length() const { return max_length_; }
  /// Tokens that the slot holds; 0 is empty.
  int64_t length(int64_t slot) const { return lengths_[slot]; }

  /// Makes the other slots hold the same tokens as `from` (n responses share one prefill). Bug if one is not empty.
  void copy_slot(int64_t from, at::IntArrayRef to);
  /// Empties a slot; its memory is reused.
  void release(int64_t slot) { lengths_[slot] = 0; }

  // For the transformer: [num_slots, max_length, Hkv, D] of one layer; rows beyond a slot's length are undefined.
  const at::Tensor& keys(int64_t layer) const { return keys_[layer]; }
  const at::Tensor& values(int64_t layer) const { return values_[layer]; }
  void set_length(int64_t slot, int64_t length);

 private:
  int64_t max_length_;
  std::vector<int64_t> lengths_;
  std::vector<at::Tensor> keys_, values_;
};

}  // namespace roll
