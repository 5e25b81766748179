// Layouts of blocks are ggml's. A scale and its block's numbers are multiplied, then a minimum is added or subtracted;
// CMakeLists.txt keeps compilers from rounding both at once.
#include "checkpoint/gguf/gguf_types.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/nearest.h"
#include "checkpoint/gguf/gguf_quantise.h"

namespace roll::gguf {

namespace {

using Byte = unsigned char;

uint32_t word_at(const Byte* bytes) {
  uint32_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

/// Blocks of 32 values: a scale, a minimum if `has_minimum`, the fifth bits of the values if `has_fifth`, and two
/// values a byte. Without a minimum the values are centred.
template <bool has_minimum, bool has_fifth>
void dequantise_32(const Byte* block, int64_t count, float* out) {
  constexpr int kCentre = has_fifth ? 16 : 8;
  for (; count > 0; --count, out += 32) {
    const float scale = half_at(block);
    block += 2;
    const float minimum = has_minimum ? half_at(block) : 0;
    if (has_minimum) block += 2;
    const uint32_t fifth = has_fifth ? word_at(block) : 0;
    if (has_fifth) block += 4;
    for (int i = 0; i < 32; ++i) {
      const int low = i < 16 ? block[i] & 0xF : block[i - 16] >> 4;
      const int value = low | static_cast<int>((fifth >> i) & 1) << 4;
      out[i] = has_minimum ? scale * static_cast<float>(value) + minimum : scale * static_cast<float>(value - kCentre);
    }
    block += 16;
  }
}

void dequantise_q8_0(const Byte* block, int64_t count, float* out) {
  for (; count > 0; --count, block += 34, out += 32) {
    const float scale = half_at(block);
    for (int i = 0; i < 32; ++i) out[i] = static_cast<float>(static_cast<int8_t>(block[2 + i])) * scale;
  }
}

/// Blocks of 256 values in runs of 16, whose scale and minimum have 4 bits each.
void dequantise_q2_k(const Byte* block, int64_t count, float* out) {
  for (; count > 0; --count, block += 84, out += 256) {
    const Byte *scales = block, *values = block + 16;
    const float scale = half_at(block + 80), minimum = half_at(block + 82);
    for (int i = 0; i < 256; ++i) {
      const Byte packed = scales[i / 16];
      const float run_scale = scale * static_cast<float>(packed & 0xF);
      const float run_minimum = minimum * static_cast<float>(packed >> 4);
      const int value = (values[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2)) & 3;
      out[i] = run_scale * static_cast<float>(value) - run_minimum;
    }
  }
}

/// Returns the 6-bit scale of run `i` of 16: low bits in 8 bytes, high ones in the next 4.
int scale_of_q3_k(const Byte* scales, int i) {
  const int low = i < 8 ? scales[i] & 0xF : scales[i - 8] >> 4;
  const int high = (scales[8 + i % 4] >> (i / 4 * 2)) & 3;
  return (low | high << 4) - 32;
}

/// Runs of 16 values of 3 bits; the value is 4 less where the third bit is not set.
void dequantise_q3_k(const Byte* block, int64_t count, float* out) {
  for (; count > 0; --count, block += 110, out += 256) {
    const Byte *third = block, *values = block + 32, *scales = block + 96;
    const float scale = half_at(block + 108);
    for (int i = 0; i < 256; ++i) {
      const float run_scale = scale * static_cast<float>(scale_of_q3_k(scales, i / 16));
      const int low = (values[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2)) & 3;
      const int value = low - ((third[i % 32] >> (i / 32)) & 1 ? 0 : 4);
      out[i] = run_scale * static_cast<float>(value);
    }
  }
}

struct ScaleAndMinimum {
  int scale, minimum;
};

/// Returns the 6-bit numbers of run `i` of 8, in 12 bytes.
ScaleAndMinimum packed_pair(const Byte* packed, int i) {
  if (i < 4) return {packed[i] & 0x3F, packed[4 + i] & 0x3F};
  const Byte both = packed[4 + i];
  return {(both & 0xF) | ((packed[i - 4] >> 2) & 0x30), (both >> 4) | ((packed[i] >> 2) & 0x30)};
}

/// Runs of 32 values of 4 bits, or 5 if `has_fifth`.
template <bool has_fifth>
void dequantise_q45_k(const Byte* block, int64_t count, float* out) {
  constexpr int kBytes = has_fifth ? 176 : 144;
  for (; count > 0; --count, block += kBytes, out += 256) {
    const float scale = half_at(block), minimum = half_at(block + 2);
    const Byte *fifth = block + 16, *values = block + (has_fifth ? 48 : 16);
    for (int run = 0; run < 8; ++run) {
      const ScaleAndMinimum pair = packed_pair(block + 4, run);
      const float run_scale = scale * static_cast<float>(pair.scale);
      const float run_minimum = minimum * static_cast<float>(pair.minimum);
      for (int i = 0; i < 32; ++i) {
        const Byte both = values[run / 2 * 32 + i];
        int value = run % 2 == 0 ? both & 0xF : both >> 4;
        if (has_fifth) value |= ((fifth[i] >> run) & 1) << 4;
        out[run * 32 + i] = run_scale * static_cast<float>(value) - run_minimum;
      }
    }
  }
}

/// Runs of 16 values of 6 bits, centred.
void dequantise_q6_k(const Byte* block, int64_t count, float* out) {
  for (; count > 0; --count, block += 210, out += 256) {
    const Byte *low = block, *high = block + 128, *scales = block + 192;
    const float scale = half_at(block + 208);
    for (int i = 0; i < 256; ++i) {
      const float run_scale = scale * static_cast<float>(static_cast<int8_t>(scales[i / 16]));
      const int half = i / 128, j = i % 128;
      const int four = (low[half * 64 + j % 64] >> (j / 64 * 4)) & 0xF;
      const int two = (high[half * 32 + j % 32] >> (j / 32 * 2)) & 3;
      out[i] = run_scale * static_cast<float>((four | two << 4) - 32);
    }
  }
}

/// Blocks of 32 values: the exponent of a power of two, and two indexes a byte into numbers of 4 bits (e2m1), which are
/// doubled here.
void dequantise_mxfp4(const Byte* block, int64_t count, float* out) {
  constexpr std::array<float, 16> kDoubled = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  for (; count > 0; --count, block += 17, out += 32) {
    const float half_scale = std::ldexp(1.0F, block[0] - 128);
    for (int i = 0; i < 32; ++i) out[i] = half_scale * kDoubled[i < 16 ? block[1 + i] & 0xF : block[i - 15] >> 4];
  }
}

constexpr uint32_t kQ5_0 = 6, kQ8_0 = 8;

constexpr std::array<NumberFormat, 14> kFormats = {
    {{kF32, "F32", 1, 4, nullptr, quantise_f32, 0, kF32},
     {kF16, "F16", 1, 2, nullptr, quantise_f16, 1, kF16},
     {2, "Q4_0", 32, 18, dequantise_32<false, false>, quantise_q4_0, 2, kF16},
     {3, "Q4_1", 32, 20, dequantise_32<true, false>, quantise_q4_1, 3, kF16},
     {kQ5_0, "Q5_0", 32, 22, dequantise_32<false, true>, quantise_q5_0, 8, kF16},
     {7, "Q5_1", 32, 24, dequantise_32<true, true>, quantise_q5_1, 9, kF16},
     {kQ8_0, "Q8_0", 32, 34, dequantise_q8_0, quantise_q8_0, 7, kF16},
     {10, "Q2_K", 256, 84, dequantise_q2_k},
     {11, "Q3_K", 256, 110, dequantise_q3_k},
     {12, "Q4_K", 256, 144, dequantise_q45_k<false>, quantise_q4_k, 14, kQ5_0},
     {13, "Q5_K", 256, 176, dequantise_q45_k<true>},
     {14, "Q6_K", 256, 210, dequantise_q6_k, quantise_q6_k, 18, kQ8_0},
     {kBf16, "BF16", 1, 2, nullptr, quantise_bf16, 32, kBf16},
     {39, "MXFP4", 32, 17, dequantise_mxfp4}}};

struct UnreadFormat {
  uint32_t code;
  const char* name;
};
constexpr UnreadFormat kUnread[] = {{9, "Q8_1"},   {15, "Q8_K"},   {16, "IQ2_XXS"}, {17, "IQ2_XS"}, {18, "IQ3_XXS"},
                                    {19, "IQ1_S"}, {20, "IQ4_NL"}, {21, "IQ3_S"},   {22, "IQ2_S"},  {23, "IQ4_XS"},
                                    {24, "I8"},    {25, "I16"},    {26, "I32"},     {27, "I64"},    {28, "F64"},
                                    {29, "IQ1_M"}, {34, "TQ1_0"},  {35, "TQ2_0"},   {40, "NVFP4"}};

}  // namespace

float half_at(const Byte* bytes) {
  uint16_t bits = 0;
  std::memcpy(&bits, bytes, sizeof bits);
  const uint32_t sign = uint32_t{bits & 0x8000U} << 16, exponent = (bits >> 10) & 0x1F, fraction = bits & 0x3FF;
  if (exponent == 0) {  // zero or subnormal: the fraction counts 2^-24
    const float value = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -value : value;
  }
  const uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | (wide << 23) | (fraction << 13));
}

const NumberFormat& number_format(uint32_t code, const std::string& where) {
  const auto* const found = std::ranges::find(kFormats, code, &NumberFormat::code);
  if (found != kFormats.end()) return *found;
  std::vector<std::string> names;
  for (const NumberFormat& format : kFormats) names.emplace_back(format.name);
  const auto* const unread = std::ranges::find(kUnread, code, &UnreadFormat::code);
  throw user_error("{}: its numbers are {}, which is not read; quantise the model to one of {}", where,
                   unread == std::end(kUnread) ? fmt::format("of an unknown type, {}", code) : unread->name,
                   fmt::join(names, ", "));
}

const NumberFormat& written_format(const std::string& name, const std::string& where) {
  std::vector<std::string> names;
  for (const NumberFormat& format : kFormats) {
    if (format.quantise == nullptr) continue;
    if (name == format.name) return format;
    names.emplace_back(format.name);
  }
  throw user_error("{} = {}: must be one of {}{}", where, name, fmt::join(names, ", "), did_you_mean(name, names));
}

const NumberFormat& fitting_format(const NumberFormat& wanted, int64_t row_size) {
  const NumberFormat* format = &wanted;
  while (row_size % format->block_size != 0) format = &number_format(format->narrow_format, "");
  return *format;
}

}  // namespace roll::gguf
