// Draws tokens for slots from rows of logits on the host; used by decoder_steps.cpp.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "dist/communicator.h"
#include "ops/sample_row.h"
#include "rollout/row_sampling.h"
#include "rollout/step_model.h"

namespace roll {

class SlotDraws {
 public:
  /// `ranks`: tensor-parallel ranks of the model; all use the first rank's draws. Null: one process.
  SlotDraws(int64_t num_slots, int64_t vocab_size, Communicator* ranks);

  /// Assigns the slot to a new sequence.
  void seat(int64_t slot, const Seat& seat);
  /// Returns the slot's last drawn token; -1 if it drew none.
  int64_t last_token(int64_t slot) const { return slots_[slot].token; }

  /// Draws a token per slot. rows[i]: logits [V] of slots[i]. **Collective** over the ranks. SystemError: a row has no
  /// finite logit, or a logit is NaN or +infinity.
  std::vector<Drawn> draw(std::span<const int64_t> slots, std::span<const float* const> rows);

 private:
  struct Slot {
    RowSampling sampling;
    RandomName name;
    TokenHistory history;
    std::unique_ptr<ConstraintState> constraint;
    int64_t token = -1;

    void add(int64_t drawn) {
      history.add(drawn);
      if (constraint) constraint->accept(drawn);
    }
  };

  void draw_local(std::span<const int64_t> slots, std::span<const float* const> rows, std::vector<Drawn>& drawn);
  void draw_on_first_rank(std::span<const int64_t> slots, std::span<const float* const> rows,
                          std::vector<Drawn>& drawn);

  int64_t vocab_size_;
  Communicator* ranks_;
  std::vector<Slot> slots_;
  std::vector<RowSampler> samplers_;  // one per thread
};

}  // namespace roll
