// Updates slots after their draws: last token, length, position of the random numbers, penalty counts. A slot is the
// place of one running sequence in the sampler's batch. Without tensor parallelism, DrawRows (sample_row_text.h)
// updates them. With it (SampleRows::advances_slots = false), each rank draws for some slots only; the ranks exchange
// the drawn tokens, and then each runs AdvanceSlots for the draws of all ranks. Legend: N draws of a step, S slots.
#pragma once

#include "cuda/device_math.h"
#include "cuda/lane_block.h"
#include "cuda/sample_rows.h"

namespace roll {

namespace sampling {

/// Returns the index of `token` in `touched`, the slot's list of tokens whose logits a bias or penalty changes;
/// slot.num_touched if absent. All lanes of the block must call it, and each gets the index.
template <class Block>
ROLL_KERNEL_TEXT int64_t find_touched(const Block& block, const SlotState& slot, const TouchedToken* touched,
                                      int64_t token) {
  const int64_t count = slot.num_touched;
  const int64_t index =
      block.smallest(count, [&](int64_t i) -> int64_t { return touched[i].token == token ? i : count; });
  return index < count ? index : count;
}

/// Makes `token` the slot's last token, moves on to the next random number and, with penalties, counts the token in
/// touched[index]. `index` is the result of find_touched(); if absent, the token is appended, for which `touched` must
/// have room. Does not change SlotState::length; the caller does. Only one lane may call it.
ROLL_HOST_DEVICE void advance_slot(SlotState& slot, TouchedToken* touched, int32_t token, int64_t index) {
  slot.last_token = token;
  ++slot.name.position;
  if (!slot.sampling.is_counting) return;
  if (index == slot.num_touched) touched[slot.num_touched++] = {token, -1, 0};
  touched[index].count = next_count(touched[index].count);
}

}  // namespace sampling

/// Kernel: updates the slots of all draws; one block per draw. A draw with slot -1 is skipped. If the drawn token is -1
/// (a logit is NaN or +infinity), only the slot's length changes. The length counts the tokens before last_token, so it
/// grows by 1 in a decode step (RowDraw::is_decoding = 1). It stays if a prompt's last row drew the token, because the
/// slot began with the prompt's length.
struct AdvanceSlots {
  static constexpr int kLanes = 256;
  template <class>
  using Shared = NoShared;
  const RowDraw* draws = nullptr;     // [N]: slots, each at most once
  const DrawnToken* drawn = nullptr;  // [N]: result of each draw
  SlotState* slots = nullptr;         // [S]
  TouchedToken* touched = nullptr;    // [S, touched_per_slot]
  int64_t touched_per_slot = 0;       // capacity of a slot's list; with penalties, each drawn token may add an entry
  int64_t num_rows = 0;               // N

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
      if (token >= 0) sampling::advance_slot(slot, slot_touched, token, index);
      slot.length += draw.is_decoding;
    });
  }
};

}  // namespace roll
