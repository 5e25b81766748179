// Draws tokens from logits on the host; used by decoder_steps.cpp. A slot is the place of one running sequence; each
// keeps its sampling settings, RNG key and penalty counts here.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "decode/decoder.h"
#include "dist/communicator.h"
#include "ops/sample_row.h"
#include "rollout/row_sampling.h"
#include "rollout/step_model.h"

namespace roll {

/// A slot that draws from the logits of row `row`. If there are guesses of the tokens that it will draw, it also draws
/// behind each guess, from the rows that follow, as long as the draws before equal the guesses.
struct SlotDraw {
  int64_t slot = 0, row = 0;
  std::span<const int64_t> guesses{};
};

class SlotDraws {
 public:
  /// `ranks`: the model's tensor-parallel ranks; the first rank draws for all. Null: the model is on one rank. `ranks`
  /// must outlive this object.
  SlotDraws(int64_t num_slots, int64_t vocab_size, Communicator* ranks);

  /// Assigns the slot to a new sequence, with the settings and tokens in `seat`; discards the state of the one before.
  void seat(int64_t slot, const Seat& seat);
  /// Returns the token that the slot drew last; -1 if it has drawn none since seat().
  int64_t last_token(int64_t slot) const { return slots_[slot].token; }

  /// Returns the draws of `draws` in this order; for each slot, which may occur once, one or more. `logits`: rows of
  /// vocab_size logits, read only on the first rank. Throws SystemError if a row has no finite logit, or a logit is NaN
  /// or +infinity. **Collective** over `ranks`.
  std::vector<Drawn> draw(std::span<const SlotDraw> draws, const LogitRows& logits);

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
    void take(int64_t drawn) {
      token = drawn;
      add(drawn);
      ++name.position;
    }
  };
  /// The draws of one slot.
  using Draws = std::vector<Drawn>;

  std::vector<Draws> draw_local(std::span<const SlotDraw> draws, const LogitRows& logits);
  Draws draw_slot(const SlotDraw& draw, const LogitRows& logits, RowSampler& sampler);
  std::vector<Draws> draw_on_first_rank(std::span<const SlotDraw> draws, const LogitRows& logits);

  int64_t vocab_size_;
  Communicator* ranks_;
  std::vector<Slot> slots_;
  std::vector<RowSampler> samplers_;  // one per thread
};

}  // namespace roll
