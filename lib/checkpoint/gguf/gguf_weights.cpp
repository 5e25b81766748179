#include "checkpoint/gguf/gguf_weights.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <cstring>

#include "base/error.h"

namespace roll::gguf {

namespace {

at::ScalarType dtype_of(const NumberFormat& format) {
  if (format.code == kF16) return at::kHalf;
  return format.code == kBf16 ? at::kBFloat16 : at::kFloat;
}

int64_t num_elements(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

/// Computes the values of quantised blocks.
at::Tensor dequantised(const NumberFormat& format, const unsigned char* data, const std::vector<int64_t>& shape) {
  at::Tensor values = at::empty(shape, at::kFloat);
  float* const out = values.data_ptr<float>();
  at::parallel_for(0, values.numel() / format.block_size, 64, [&](int64_t begin, int64_t end) {
    format.dequantise(data + begin * format.block_bytes, end - begin, out + begin * format.block_size);
  });
  return values;
}

/// Undoes ggml's order of a head's rows: its rotary embedding turns neighbours, Hugging Face's turns halves.
at::Tensor in_halves(const at::Tensor& rows, int64_t heads) {
  const int64_t half = rows.size(0) / heads / 2;
  return rows.reshape({heads, half, 2, -1}).transpose(1, 2).reshape(rows.sizes());
}

}  // namespace

Weights::Weights(const std::filesystem::path& file)
    : file_(std::make_shared<const File>(file)), tensors_(folder_tensors(*file_)) {
  for (const FolderTensor& tensor : tensors_)
    entries_.push_back({.name = tensor.name, .dtype = dtype_of(*tensor.stored->format), .shape = tensor.shape});
}

const std::string& Weights::part_file(size_t index) const {
  return file_->part_names()[tensors_[index].stored->file];
}

at::Tensor Weights::read(size_t index) const {
  const FolderTensor& tensor = tensors_[index];
  const NumberFormat& format = *tensor.stored->format;
  const int64_t bytes = num_elements(tensor.shape) / format.block_size * format.block_bytes;
  const unsigned char* data = tensor.stored->data + (tensor.expert >= 0 ? tensor.expert * bytes : 0);
  at::Tensor values;
  if (format.dequantise != nullptr) {
    values = dequantised(format, data, tensor.shape);
  } else {
    values = at::from_blob(
        const_cast<unsigned char*>(data), tensor.shape, [keep = file_](void*) {}, dtype_of(format));
    if (reinterpret_cast<uintptr_t>(data) % static_cast<size_t>(format.block_bytes) != 0) {
      at::Tensor aligned = at::empty(tensor.shape, dtype_of(format));
      std::memcpy(aligned.data_ptr(), data, static_cast<size_t>(bytes));
      values = aligned;
    }
  }
  if (tensor.heads > 0) values = in_halves(values, tensor.heads);
  return tensor.is_raised ? values - 1 : values;
}

}  // namespace roll::gguf
