// Draws tokens from logits on the host; used by decoder_steps.cpp. A slot is the place of one running sequence; each
// keeps its sampling settings, RNG key and penalty counts here.
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
  /// `ranks`: the model's tensor-parallel ranks; the first rank draws for all. Null: the model is on one rank. `ranks`
  /// must outlive this object.
  SlotDraws(int64_t num_slots, int64_t vocab_size, Communicator* ranks);

  /// Assigns the slot to a new sequence, with the settings and tokens in `seat`; discards the state of the one before.
  void seat(int64_t slot, const Seat& seat);
  /// Returns the token that the slot drew last; -1 if it has drawn none since seat().
  int64_t last_token(int64_t slot) const { return slots_[slot].token; }

  /// Draws a token for each of `slots` (each at most once) and returns the draws in this order. rows[i]: the vocab_size
  /// logits from which slots[i] draws; read only on the first rank. Throws SystemError if a row has no finite logit, or
  /// a logit is NaN or +infinity. **Collective** over `ranks`.
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
