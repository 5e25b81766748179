// Kernels of panel_product.h for the matrix tiles (AMX) of x86-64 processors. A tile instruction multiplies up to 16
// rows of x by 16 outputs, with 32 bfloat16 inputs or 64 bytes. While a kernel multiplies a panel, it prefetches the
// panel at `next`, which may be null (none) or an invalid address. Each tile row is summed on its own, so that a row's
// bits do not depend on other rows.
#pragma once

#include "ops/panel_product.h"
#include "ops/simd.h"

namespace roll {

#ifdef ROLL_V4
/// Returns true if the processor has tiles for bfloat16 and bytes, and Linux lets this process use them. The first call
/// asks Linux for the permission; later calls return the same answer.
bool has_tiles();

/// PanelProducts::pairs with tiles. May be called only if has_tiles() has returned true. Sets up the calling thread's
/// tiles.
void multiply_pairs_tiled(const uint32_t* panel, int64_t inputs, const NarrowPanelRows& rows, const uint32_t* next);

/// PanelProducts::bytes with tiles. May be called only if has_tiles() has returned true. Sets up the calling thread's
/// tiles.
void multiply_bytes_tiled(const BytePanel& panel, int64_t inputs, const FixedPanelRows& rows, const int8_t* next);
#endif

/// Releases the calling thread's tiles, so that Linux need not save them when it switches threads. The kernels above
/// may be called again afterwards. Does nothing without tiles.
void release_tiles();

}  // namespace roll
