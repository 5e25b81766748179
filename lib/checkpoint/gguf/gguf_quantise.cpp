// Layouts of blocks are ggml's; gguf_types.cpp reads them. CMakeLists.txt keeps compilers from rounding a product and a
// sum at once.
#include "checkpoint/gguf/gguf_quantise.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "checkpoint/gguf/gguf_types.h"

namespace roll::gguf {

namespace {

using Byte = unsigned char;

/// Stores a value in half precision; returns the stored value.
float put_half(Byte* place, float value) {
  const c10::Half half(value);
  std::memcpy(place, &half.x, sizeof half.x);
  return half_at(place);
}

/// Limits a float, also infinity and NaN, to 0 ... most.
int limited(float value, int most) {
  return static_cast<int>(std::fmin(std::fmax(value, 0.0F), static_cast<float>(most)));
}

float inverse_of(float scale) {
  return scale == 0 ? 0 : 1 / scale;
}

/// Returns the first of the values with the largest size.
float farthest(const float* values, int count) {
  return *std::max_element(values, values + count, [](float a, float b) { return std::abs(a) < std::abs(b); });
}

/// The counterpart of dequantise_32().
template <bool has_minimum, bool has_fifth>
void quantise_32(const float* values, int64_t count, Byte* block) {
  constexpr int kMost = has_fifth ? 31 : 15, kCentre = (kMost + 1) / 2;
  for (; count > 0; --count, values += 32) {
    const auto [least, most] = std::minmax_element(values, values + 32);
    const float start = has_minimum ? *least : 0;
    const float scale = has_minimum ? (*most - *least) / kMost : farthest(values, 32) / -kCentre;
    const float inverse = inverse_of(scale), half = has_minimum ? 0.5F : 0.5F + kCentre;
    put_half(block, scale);
    block += 2;
    if (has_minimum) {
      put_half(block, start);
      block += 2;
    }
    std::array<int, 32> codes{};
    uint32_t fifth = 0;
    for (size_t i = 0; i < 32; ++i) {
      codes[i] = limited((values[i] - start) * inverse + half, kMost);
      fifth |= static_cast<uint32_t>(codes[i] >> 4) << i;
    }
    if (has_fifth) {
      std::memcpy(block, &fifth, sizeof fifth);
      block += 4;
    }
    for (size_t i = 0; i < 16; ++i) *block++ = static_cast<Byte>((codes[i] & 0xF) | (codes[16 + i] & 0xF) << 4);
  }
}

/// A run's values are about scale * code - minimum.
struct RunFit {
  float scale = 0, minimum = 0;
};

/// Returns scale and minimum (0 or above) for codes of 0 ... most with a small squared error: tries spacings of codes,
/// and solves for the best scale and minimum of each.
RunFit fit_run(const float* values, int count, int most) {
  const float low = std::min(0.0F, *std::min_element(values, values + count));
  const float width = *std::max_element(values, values + count) - low;
  if (!(width > 0)) return {.scale = 0, .minimum = -low};
  RunFit best;
  double least_error = HUGE_VAL;
  for (int step = -10; step <= 10; ++step) {
    const float inverse = (static_cast<float>(most) + 0.1F * static_cast<float>(step)) / width;
    double codes = 0, squares = 0, sum = 0, products = 0, total = 0;
    for (int i = 0; i < count; ++i) {
      const double code = limited((values[i] - low) * inverse + 0.5F, most), value = values[i];
      codes += code;
      squares += code * code;
      sum += value;
      products += value * code;
      total += value * value;
    }
    const double determinant = count * squares - codes * codes;
    double scale = determinant > 0 ? (count * products - sum * codes) / determinant : 0;
    double offset = determinant > 0 ? (squares * sum - codes * products) / determinant : 0;
    if (offset > 0 || determinant <= 0) {
      offset = 0;
      scale = squares > 0 ? products / squares : 0;
    }
    const double error = total + scale * scale * squares + count * offset * offset +
                         2 * (scale * offset * codes - scale * products - offset * sum);
    if (error >= least_error || scale < 0) continue;
    least_error = error;
    best = {.scale = static_cast<float>(scale), .minimum = static_cast<float>(-offset)};
  }
  return best;
}

/// Returns the scale for codes of -most - 1 ... most with a small squared error.
float fit_centred_run(const float* values, int count, int most) {
  const float far = farthest(values, count);
  if (far == 0) return 0;
  float best = 0;
  double most_explained = 0;
  for (int step = -9; step <= 9; ++step) {
    const float inverse = -(static_cast<float>(most) + 1 + 0.1F * static_cast<float>(step)) / far;
    double products = 0, squares = 0;
    for (int i = 0; i < count; ++i) {
      const float code =
          std::clamp(std::nearbyint(values[i] * inverse), static_cast<float>(-most - 1), static_cast<float>(most));
      products += static_cast<double>(values[i]) * code;
      squares += static_cast<double>(code) * code;
    }
    if (squares == 0 || products * products / squares <= most_explained) continue;
    most_explained = products * products / squares;
    best = static_cast<float>(products / squares);
  }
  return best;
}

/// Stores the 6-bit numbers of run `i` of 8 in 12 bytes that begin as 0: the counterpart of packed_pair().
void pack_pair(Byte* packed, int i, int scale, int minimum) {
  if (i < 4) {
    packed[i] |= static_cast<Byte>(scale);
    packed[4 + i] |= static_cast<Byte>(minimum);
    return;
  }
  packed[4 + i] = static_cast<Byte>((scale & 0xF) | (minimum & 0xF) << 4);
  packed[i - 4] |= static_cast<Byte>(scale >> 4 << 6);
  packed[i] |= static_cast<Byte>(minimum >> 4 << 6);
}

}  // namespace

void quantise_f32(const float* values, int64_t count, Byte* blocks) {
  std::memcpy(blocks, values, static_cast<size_t>(count) * sizeof(float));
}

void quantise_f16(const float* values, int64_t count, Byte* blocks) {
  for (int64_t i = 0; i < count; ++i) put_half(blocks + 2 * i, values[i]);
}

void quantise_bf16(const float* values, int64_t count, Byte* blocks) {
  for (int64_t i = 0; i < count; ++i) {
    const c10::BFloat16 rounded(values[i]);
    std::memcpy(blocks + 2 * i, &rounded.x, sizeof rounded.x);
  }
}

void quantise_q4_0(const float* values, int64_t count, Byte* blocks) {
  quantise_32<false, false>(values, count, blocks);
}
void quantise_q4_1(const float* values, int64_t count, Byte* blocks) {
  quantise_32<true, false>(values, count, blocks);
}
void quantise_q5_0(const float* values, int64_t count, Byte* blocks) {
  quantise_32<false, true>(values, count, blocks);
}
void quantise_q5_1(const float* values, int64_t count, Byte* blocks) {
  quantise_32<true, true>(values, count, blocks);
}

void quantise_q8_0(const float* values, int64_t count, Byte* blocks) {
  for (; count > 0; --count, values += 32, blocks += 34) {
    const float scale = std::abs(farthest(values, 32)) / 127, inverse = inverse_of(scale);
    put_half(blocks, scale);
    for (int i = 0; i < 32; ++i) {
      const float code = std::fmin(std::fmax(std::round(values[i] * inverse), -127.0F), 127.0F);
      blocks[2 + i] = static_cast<Byte>(static_cast<int8_t>(code));
    }
  }
}

void quantise_q4_k(const float* values, int64_t count, Byte* block) {
  for (; count > 0; --count, values += 256, block += 144) {
    std::memset(block, 0, 144);
    std::array<RunFit, 8> fits;
    float most_scale = 0, most_minimum = 0;
    for (int64_t run = 0; run < 8; ++run) {
      fits[run] = fit_run(values + 32 * run, 32, 15);
      most_scale = std::max(most_scale, fits[run].scale);
      most_minimum = std::max(most_minimum, fits[run].minimum);
    }
    const float scale = put_half(block, most_scale / 63), minimum = put_half(block + 2, most_minimum / 63);
    for (int run = 0; run < 8; ++run) {
      const int run_scale = limited(fits[run].scale * inverse_of(scale) + 0.5F, 63);
      const int run_minimum = limited(fits[run].minimum * inverse_of(minimum) + 0.5F, 63);
      pack_pair(block + 4, run, run_scale, run_minimum);
      const float inverse = inverse_of(scale * static_cast<float>(run_scale));
      const float shift = minimum * static_cast<float>(run_minimum);
      for (int i = 0; i < 32; ++i) {
        const int code = limited((values[32 * run + i] + shift) * inverse + 0.5F, 15);
        block[16 + run / 2 * 32 + i] |= static_cast<Byte>(code << (run % 2 * 4));
      }
    }
  }
}

void quantise_q6_k(const float* values, int64_t count, Byte* block) {
  for (; count > 0; --count, values += 256, block += 210) {
    std::memset(block, 0, 210);
    std::array<float, 16> fits{};
    for (int64_t run = 0; run < 16; ++run) fits[run] = fit_centred_run(values + 16 * run, 16, 31);
    const float scale = put_half(block + 208, farthest(fits.data(), 16) / -128);
    for (int i = 0; i < 256; ++i) {
      const float run_scale = std::clamp(std::nearbyint(fits[i / 16] * inverse_of(scale)), -128.0F, 127.0F);
      block[192 + i / 16] = static_cast<Byte>(static_cast<int8_t>(run_scale));
      const int code = limited(std::nearbyint(values[i] * inverse_of(scale * run_scale)) + 32, 63);
      const int half = i / 128, j = i % 128;
      block[half * 64 + j % 64] |= static_cast<Byte>((code & 0xF) << (j / 64 * 4));
      block[128 + half * 32 + j % 32] |= static_cast<Byte>(code >> 4 << (j / 32 * 2));
    }
  }
}

}  // namespace roll::gguf
