// The number formats of GGUF tensors: sizes of their blocks, and functions that convert blocks to float32.
#pragma once

#include <cstdint>
#include <string>

namespace roll::gguf {

/// A number format that roll can read. Each row of a tensor consists of whole blocks.
struct NumberFormat {
  uint32_t code;        // ggml's code, which the file holds
  const char* name;     // ggml's name: "Q4_K"
  int64_t block_size;   // values in a block; 1 for float formats
  int64_t block_bytes;  // bytes of a block
  /// Converts `count` blocks to `count * block_size` float32 values. Bit-equal to the Python package gguf. nullptr for
  /// float formats, whose bytes are used as they are.
  void (*dequantise)(const unsigned char* blocks, int64_t count, float* out);
};

/// Codes of the float formats.
inline constexpr uint32_t kF32 = 0, kF16 = 1, kBf16 = 30;

/// Returns the format with this code. Throws UserError "where: ..." if roll cannot read the format; `where` names the
/// file and the tensor.
const NumberFormat& number_format(uint32_t code, const std::string& where);

}  // namespace roll::gguf
