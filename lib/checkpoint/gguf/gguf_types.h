// The number formats of GGUF tensors: their blocks, and the float32 values that they stand for.
#pragma once

#include <cstdint>
#include <string>

namespace roll::gguf {

/// A number format that is read here. Rows of a tensor are made of whole blocks.
struct NumberFormat {
  uint32_t code;       // in the file
  const char* name;    // ggml's name: "Q4_K"
  int64_t block_size;  // values in a block
  int64_t block_bytes;
  /// Writes the values of `count` blocks to `out`: the same float32 operations in the same order as the package gguf.
  /// nullptr: a float format that is read as it is stored.
  void (*dequantise)(const unsigned char* blocks, int64_t count, float* out);
};

inline constexpr uint32_t kF32 = 0, kF16 = 1, kBf16 = 30;

/// Returns the format with this code. UserError "where: ...": it is unknown, or known but not read here.
const NumberFormat& number_format(uint32_t code, const std::string& where);

}  // namespace roll::gguf
