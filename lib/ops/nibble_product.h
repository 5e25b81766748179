// Products with 4-bit weights on the CPU, for packed_weight.h, like those of panel_product.h. 32 inputs of an output
// are a block with a scale: weight = scale * (code - 8), code 0 to 15. A block's sum with a row in fixed point
// (fixed_rows.h) is a whole number of at most 29 bits; times its scale it is added to the output by fused
// multiply-adds, block after block. So all processors compute the same bits, and a row's bits do not depend on other
// rows.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/panel_product.h"

namespace roll {

constexpr int64_t kNibbleBlock = kFixedBlock;  // inputs that share a scale
constexpr int32_t kNibbleZero = 8;             // code of the weight 0

/// A block of a panel: the codes of 32 inputs of 64 outputs, and the outputs' scales. In codes[s][v][4 o + j], the low
/// half has output 16 v + o and input 8 s + j, the high half the same output and input 8 s + 4 + j.
struct NibbleBlock {
  uint8_t codes[4][4][64];
  uint16_t scales[kPanelWidth];  // bfloat16; NaN if a weight is not finite, so that the output becomes NaN
};

/// Returns the blocks of a panel. Inputs behind the last one have the code of 0.
constexpr int64_t nibble_blocks(int64_t inputs) {
  return (inputs + kNibbleBlock - 1) / kNibbleBlock;
}

/// Rounds K weights to codes and scales, and writes them as output `output` of a panel of zeros. A block's scale is its
/// weight of the largest magnitude divided by -8, in bfloat16.
void round_to_nibbles(const float* weights, int64_t inputs, int64_t output, NibbleBlock* panel);

/// Multiplies rows in fixed point by a panel of `blocks` blocks. `next`: the panel to prefetch; any address.
using NibbleProduct = void (*)(const NibbleBlock* panel, int64_t blocks, const FixedPanelRows& rows,
                               const NibbleBlock* next);

/// Returns the kernels that this processor can run, the fastest first; callers use the first, tests compare all.
const std::vector<NibbleProduct>& nibble_products();

}  // namespace roll
