#include "ops/tile_product.h"

#include "ops/simd.h"

#ifdef ROLL_V4
#define ROLL_TILES __attribute__((target("arch=x86-64-v4,amx-tile,amx-bf16,amx-int8")))
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <array>
#include <cstring>

#include "ops/byte_products.h"

namespace roll {

#ifdef ROLL_V4

namespace {

constexpr int64_t kTileRows = 16;                    // rows of a tile
constexpr int64_t kTileBytes = 64;                   // bytes of a tile's row
constexpr int64_t kPanelStride = kPanelWidth * 4;    // bytes from one pair of inputs to the next in a panel
constexpr int64_t kTilePairs = kTileInputs / 2;      // rows of a tile of weights
constexpr int64_t kStep = kTilePairs * kPanelWidth;  // words of a panel per tile instruction
constexpr int64_t kLineWords = 16;                   // words of a cache line
constexpr int64_t kTileColumns = kTileBytes / 4;     // outputs of a tile

/// The operand of the instruction ldtilecfg.
struct alignas(64) TileShapes {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t bytes_per_row[16] = {};
  uint8_t rows[16] = {};
};

/// Rows of x as 32-input steps. The last step comes from `tail`, padded with zeros, if the inputs do not fill it.
struct TiledRows {
  const c10::BFloat16* x;
  int64_t stride, num_steps;
  bool has_tail;
  alignas(64) c10::BFloat16 tail[2 * kTileRows * kTileInputs];

  TiledRows(const c10::BFloat16* rows, int64_t row_stride, int64_t count, int64_t inputs)
      : x(rows),
        stride(row_stride),
        num_steps((inputs + kTileInputs - 1) / kTileInputs),
        has_tail(inputs % kTileInputs != 0) {
    if (!has_tail) return;
    std::memset(tail, 0, sizeof(tail));
    const int64_t first = (num_steps - 1) * kTileInputs;
    for (int64_t row = 0; row < count; ++row)
      std::memcpy(tail + row * kTileInputs, x + row * stride + first, (inputs - first) * sizeof(*x));
  }
  bool reads_tail(int64_t step) const { return has_tail && step == num_steps - 1; }
  /// Returns the first element of `row` in a step.
  const c10::BFloat16* at(int64_t row, int64_t step) const {
    return reads_tail(step) ? tail + row * kTileInputs : x + row * stride + step * kTileInputs;
  }
  int64_t bytes_between(int64_t step) const {
    return (reads_tail(step) ? kTileInputs : stride) * static_cast<int64_t>(sizeof(*x));
  }
};

/// Prefetches columns [first, first + width) of one step of a panel.
ROLL_INLINE void prefetch(const uint32_t* next, int64_t step, int64_t first, int64_t width) {
  for (int64_t pair = 0; pair < kTilePairs; ++pair)
    for (int64_t column = first; column < first + width; column += kLineWords)
      __builtin_prefetch(next + step * kStep + pair * kPanelWidth + column, 0, 2);
}

/// Tiles 0 to 3 hold the sums of at most 16 rows and all outputs, tile 4 rows of x, tiles 5 to 7 weights.
ROLL_TILES void multiply_one_tile(const uint32_t* panel, const TiledRows& rows, float* y, int64_t y_stride,
                                  const uint32_t* next) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int64_t step = 0; step < rows.num_steps; ++step) {
    const uint32_t* const weights = panel + step * kStep;
    _tile_loadd(4, rows.at(0, step), rows.bytes_between(step));
    _tile_loadd(5, weights, kPanelStride);
    _tile_loadd(6, weights + kTileColumns, kPanelStride);
    _tile_loadd(7, weights + 2 * kTileColumns, kPanelStride);
    _tile_dpbf16ps(0, 4, 5);
    _tile_loadd(5, weights + 3 * kTileColumns, kPanelStride);
    _tile_dpbf16ps(1, 4, 6);
    _tile_dpbf16ps(2, 4, 7);
    _tile_dpbf16ps(3, 4, 5);
    if (next) prefetch(next, step, 0, kPanelWidth);
  }
  const int64_t bytes = y_stride * 4;
  _tile_stored(0, y, bytes);
  _tile_stored(1, y + kTileColumns, bytes);
  _tile_stored(2, y + 2 * kTileColumns, bytes);
  _tile_stored(3, y + 3 * kTileColumns, bytes);
}

/// Tiles 0 to 3 hold the sums of two tiles of rows and half of the outputs, from `column` on; tiles 4 and 5 rows of x,
/// tiles 6 and 7 weights.
ROLL_TILES void multiply_two_tiles(const uint32_t* panel, const TiledRows& rows, int64_t column, float* y,
                                   int64_t y_stride, const uint32_t* next) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int64_t step = 0; step < rows.num_steps; ++step) {
    const uint32_t* const weights = panel + step * kStep + column;
    _tile_loadd(4, rows.at(0, step), rows.bytes_between(step));
    _tile_loadd(6, weights, kPanelStride);
    _tile_loadd(5, rows.at(kTileRows, step), rows.bytes_between(step));
    _tile_loadd(7, weights + kTileColumns, kPanelStride);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
    if (next) prefetch(next, step, column, 2 * kTileColumns);
  }
  const int64_t bytes = y_stride * 4;
  float *const first = y + column, *const second = first + kTileRows * y_stride;
  _tile_stored(0, first, bytes);
  _tile_stored(1, first + kTileColumns, bytes);
  _tile_stored(2, second, bytes);
  _tile_stored(3, second + kTileColumns, bytes);
}

/// Sets the number of rows of tiles 0 to 7. All rows have 64 bytes.
ROLL_TILES void set_shapes(const std::array<int64_t, 8>& rows) {
  TileShapes shapes;
  std::fill_n(shapes.bytes_per_row, rows.size(), uint16_t{kTileBytes});
  std::ranges::transform(rows, shapes.rows, [](int64_t count) { return static_cast<uint8_t>(count); });
  _tile_loadconfig(&shapes);
}

/// Sums of the digits of up to 16 rows times the codes of 16 outputs.
struct DigitSums {
  alignas(64) int32_t sums[kFixedDigits][kTileRows][kTileColumns];
};

/// Computes sums of at most 16 rows for the outputs from `column` on. Tiles 0 to 2 hold the sums of each digit, tiles 3
/// to 5 digits, tile 6 weights.
ROLL_TILES void sum_digits(const BytePanel& panel, int64_t inputs, const FixedPanelRows& rows, int64_t column,
                           const int8_t* next, DigitSums& out) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  const int64_t plane = fixed_plane(inputs);
  for (int64_t k = 0; k < plane; k += kTileBytes) {
    const int64_t from = code_place(inputs, column, k);
    const uint8_t* const x = rows.x + kFixedHeader + k;
    _tile_loadd(6, panel.codes + from, kTileBytes);
    _tile_loadd(3, x, rows.x_stride);
    _tile_loadd(4, x + plane, rows.x_stride);
    _tile_loadd(5, x + 2 * plane, rows.x_stride);
    _tile_dpbusd(0, 3, 6);
    _tile_dpbusd(1, 4, 6);
    _tile_dpbusd(2, 5, 6);
    if (next)
      for (int64_t line = 0; line < kTileRows; ++line) __builtin_prefetch(next + from + line * kTileBytes, 0, 2);
  }
  _tile_stored(0, out.sums[0], kTileBytes);
  _tile_stored(1, out.sums[1], kTileBytes);
  _tile_stored(2, out.sums[2], kTileBytes);
}

}  // namespace

bool has_tiles() {
  static const bool found = [] {
    constexpr int kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    return __builtin_cpu_supports("amx-bf16") && __builtin_cpu_supports("amx-int8") &&
           syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  }();
  return found;
}

ROLL_TILES void multiply_pairs_tiled(const uint32_t* panel, int64_t inputs, const NarrowPanelRows& rows,
                                     const uint32_t* next) {
  for (int64_t row = 0; row < rows.count; row += 2 * kTileRows) {
    const NarrowPanelRows part = rows.part(row, std::min(2 * kTileRows, rows.count - row));
    const int64_t second = std::max<int64_t>(0, part.count - kTileRows), first = part.count - second;
    const TiledRows tiled(part.x, part.x_stride, part.count, inputs);
    const uint32_t* const prefetched = row == 0 ? next : nullptr;
    if (second == 0) {
      set_shapes({first, first, first, first, first, kTilePairs, kTilePairs, kTilePairs});
      multiply_one_tile(panel, tiled, part.y, part.y_stride, prefetched);
    } else {
      set_shapes({first, first, second, second, first, second, kTilePairs, kTilePairs});
      multiply_two_tiles(panel, tiled, 0, part.y, part.y_stride, prefetched);
      multiply_two_tiles(panel, tiled, 2 * kTileColumns, part.y, part.y_stride, prefetched);
    }
  }
}

ROLL_TILES void multiply_bytes_tiled(const BytePanel& panel, int64_t inputs, const FixedPanelRows& rows,
                                     const int8_t* next) {
  DigitSums sums;
  for (int64_t row = 0; row < rows.count; row += kTileRows) {
    const FixedPanelRows part = rows.part(row, std::min(kTileRows, rows.count - row));
    set_shapes({part.count, part.count, part.count, part.count, part.count, part.count, kTileRows, kTileRows});
    for (int64_t column = 0; column < kPanelWidth; column += kTileColumns) {
      sum_digits(panel, inputs, part, column, row == 0 ? next : nullptr, sums);
      for (int64_t i = 0; i < part.count; ++i) {
        Register<kTileColumns>::Ints row_sums[kFixedDigits];
        for (int d = 0; d < kFixedDigits; ++d) std::memcpy(&row_sums[d], sums.sums[d][i], sizeof(row_sums[d]));
        write_byte_products<kTileColumns>(row_sums, panel, column, part.x + i * part.x_stride,
                                          part.y + i * part.y_stride);
      }
    }
  }
}

ROLL_TILES void release_tiles() {
  if (has_tiles()) _tile_release();
}

#else

void release_tiles() {}

#endif

}  // namespace roll
