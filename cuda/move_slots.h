// Updates a slot after a drawn token: RNG position, last token and penalty counts. DrawRows does this itself, unless
// other tensor-parallel ranks draw some tokens of the step; then MoveSlots runs. Legend: N rows, S slots.
#pragma once

#include "cuda/device_math.h"
#include "cuda/lane_block.h"
#include "cuda/sample_rows.h"

namespace roll {

namespace sampling {

/// Returns the index of `token` in touched[], or num_touched if absent.
template <class Block>
ROLL_KERNEL_TEXT int64_t find_touched(const Block& block, const SlotState& slot, const TouchedToken* touched,
                                      int64_t token) {
  const int64_t count = slot.num_touched;
  const int64_t index =
      block.smallest(count, [&](int64_t i) -> int64_t { return touched[i].token == token ? i : count; });
  return index < count ? index : count;
}

ROLL_HOST_DEVICE void move_on(SlotState& slot, TouchedToken* touched, int32_t token, int64_t index) {
  slot.last_token = token;
  ++slot.name.position;
  if (!slot.sampling.is_counting) return;
  if (index == slot.num_touched) touched[slot.num_touched++] = {token, -1, 0};
  touched[index].count = counted(touched[index].count);
}

}  // namespace sampling

/// Kernel: one block per row.
struct MoveSlots {
  static constexpr int kLanes = 256;
  template <class>
  using Shared = NoShared;
  const RowDraw* draws = nullptr;     // [N], no slot twice
  const DrawnToken* drawn = nullptr;  // [N]
  SlotState* slots = nullptr;         // [S]
  TouchedToken* touched = nullptr;    // [S, touched_per_slot]
  int64_t touched_per_slot = 0, num_rows = 0;

  int64_t num_blocks() const { return num_rows; }
  template <class Block>
  ROLL_KERNEL_TEXT void run(const Block& block, NoShared&, int64_t i) const {
    const RowDraw draw = draws[i];
    if (draw.slot < 0) return;
    const int32_t token = drawn[i].token;
    SlotState& slot = slots[draw.slot];
    TouchedToken* const slot_touched = touched + draw.slot * touched_per_slot;
    const int64_t index = token < 0 ? 0 : sampling::find_touched(block, slot, slot_touched, token);
    block.once([&] {
      if (token >= 0) sampling::move_on(slot, slot_touched, token, index);
      slot.length += draw.is_decoding;
    });
  }
};

}  // namespace roll
