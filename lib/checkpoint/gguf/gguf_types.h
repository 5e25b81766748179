// The number formats of GGUF tensors: sizes of their blocks, and functions that convert blocks to and from float32.
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
  /// Converts `count * block_size` float32 values to blocks (gguf_quantise.h). nullptr: the format is only read.
  void (*quantise)(const float* values, int64_t count, unsigned char* blocks) = nullptr;
  uint32_t file_type = 0;      // ggml's code of files with such matrices (general.file_type)
  uint32_t narrow_format = 0;  // code of the format for rows that are not whole blocks
};

/// Codes of the float formats.
inline constexpr uint32_t kF32 = 0, kF16 = 1, kBf16 = 30;

/// Returns the format with this code. Throws UserError "where: ..." if roll cannot read the format; `where` names the
/// file and the tensor.
const NumberFormat& number_format(uint32_t code, const std::string& where);

/// Returns the format with this name, such as "Q4_K". Throws UserError "where = name: ..." unless roll can write it.
const NumberFormat& written_format(const std::string& name, const std::string& where);

/// Returns the format for rows of `row_size` numbers: `wanted`, or ggml's replacement if they are not whole blocks of
/// it.
const NumberFormat& fitting_format(const NumberFormat& wanted, int64_t row_size);

/// Converts the bits of a half-precision number exactly.
float half_at(const unsigned char* bytes);

}  // namespace roll::gguf
