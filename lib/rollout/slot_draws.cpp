#include "rollout/slot_draws.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <exception>

#include "dist/agree.h"

namespace roll {

namespace {

/// Returns the smallest number of rows per thread task: starting a task costs about as much as 16k logits.
int64_t rows_per_task(int64_t vocab_size) {
  return std::max<int64_t>(1, 16384 / vocab_size);
}

}  // namespace

SlotDraws::SlotDraws(int64_t num_slots, int64_t vocab_size, Communicator* ranks)
    : vocab_size_(vocab_size), ranks_(ranks), slots_(num_slots), samplers_(at::get_num_threads()) {}

void SlotDraws::seat(int64_t slot, const Seat& seat) {
  slots_[slot] = {.sampling = row_sampling(seat.generating),
                  .name = seat.name,
                  .history = TokenHistory(seat.generating, seat.prompt),
                  .constraint = seat.generating.constraint ? seat.generating.constraint->begin() : nullptr,
                  .token = -1};
  for (const int64_t token : seat.drawn) slots_[slot].add(token);
}

std::vector<Drawn> SlotDraws::draw(std::span<const int64_t> slots, std::span<const float* const> rows) {
  std::vector<Drawn> drawn(slots.size());
  if (ranks_)
    draw_on_first_rank(slots, rows, drawn);
  else
    draw_local(slots, rows, drawn);
  for (const auto& [slot, token, log_prob, processed_log_prob] : drawn) {
    slots_[slot].token = token;
    slots_[slot].add(token);
    ++slots_[slot].name.position;
  }
  return drawn;
}

void SlotDraws::draw_local(std::span<const int64_t> slots, std::span<const float* const> rows,
                           std::vector<Drawn>& drawn) {
  at::parallel_for(0, std::ssize(slots), rows_per_task(vocab_size_), [&](int64_t begin, int64_t end) {
    RowSampler& sampler = samplers_[at::get_thread_num()];
    for (int64_t i = begin; i < end; ++i) {
      const Slot& slot = slots_[slots[i]];
      const DrawnToken draw = sampler.draw({rows[i], static_cast<size_t>(vocab_size_)}, slot.sampling,
                                           slot.history.touched(), random_bits(slot.name),
                                           slot.constraint ? slot.constraint->allowed() : std::span<const uint32_t>());
      drawn[i] = {slots[i], draw.token, draw.log_prob, draw.processed_log_prob};
    }
  });
}

/// Draws on the first rank and broadcasts the result. Logits can differ between ranks in the last bit, so that separate
/// draws could diverge.
void SlotDraws::draw_on_first_rank(std::span<const int64_t> slots, std::span<const float* const> rows,
                                   std::vector<Drawn>& drawn) {
  if (slots.empty()) return;
  at::Tensor shared = at::full({std::ssize(slots), 3}, -1.0, at::kDouble);  // token, log-probs; all exact in float64
  auto row = shared.accessor<double, 2>();
  std::exception_ptr failure;
  if (ranks_->is_first()) try {
      draw_local(slots, rows, drawn);
      for (int64_t i = 0; i < row.size(0); ++i) {
        row[i][0] = static_cast<double>(drawn[i].token);
        row[i][1] = static_cast<double>(drawn[i].log_prob);
        row[i][2] = static_cast<double>(drawn[i].processed_log_prob);
      }
    } catch (...) {
      failure = std::current_exception();  // the other ranks wait for the broadcast; -1 reports the failure
    }
  ranks_->broadcast(shared, 0, "drawn tokens");
  if (failure) std::rethrow_exception(failure);
  if (row[0][0] < 0) throw AnotherRankFailed(0, 1);
  for (int64_t i = 0; i < row.size(0); ++i)
    drawn[i] = {slots[i], static_cast<int64_t>(row[i][0]), static_cast<float>(row[i][1]),
                static_cast<float>(row[i][2])};
}

}  // namespace roll
