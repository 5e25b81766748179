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

std::vector<Drawn> SlotDraws::draw(std::span<const SlotDraw> draws, const LogitRows& logits) {
  std::vector<Drawn> drawn;
  for (const Draws& slot_draws : ranks_ ? draw_on_first_rank(draws, logits) : draw_local(draws, logits))
    drawn.insert(drawn.end(), slot_draws.begin(), slot_draws.end());
  return drawn;
}

std::vector<SlotDraws::Draws> SlotDraws::draw_local(std::span<const SlotDraw> draws, const LogitRows& logits) {
  std::vector<Draws> drawn(draws.size());
  at::parallel_for(0, std::ssize(draws), rows_per_task(vocab_size_), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) drawn[i] = draw_slot(draws[i], logits, samplers_[at::get_thread_num()]);
  });
  return drawn;
}

SlotDraws::Draws SlotDraws::draw_slot(const SlotDraw& draw, const LogitRows& logits, RowSampler& sampler) {
  Slot& slot = slots_[draw.slot];
  Draws drawn;
  for (int64_t i = 0; i <= std::ssize(draw.guesses); ++i) {
    const DrawnToken token = sampler.draw({logits.row(draw.row + i), static_cast<size_t>(vocab_size_)}, slot.sampling,
                                          slot.history.touched(), random_bits(slot.name),
                                          slot.constraint ? slot.constraint->allowed() : std::span<const uint32_t>());
    drawn.push_back({draw.slot, token.token, token.log_prob, token.processed_log_prob});
    slot.take(token.token);
    if (i < std::ssize(draw.guesses) && draw.guesses[i] != token.token) break;
  }
  return drawn;
}

/// Draws on the first rank and broadcasts the result. Logits can differ between ranks in the last bit, so that separate
/// draws could diverge.
std::vector<SlotDraws::Draws> SlotDraws::draw_on_first_rank(std::span<const SlotDraw> draws, const LogitRows& logits) {
  if (draws.empty()) return {};
  int64_t most = 0;
  for (const SlotDraw& draw : draws) most = std::max(most, std::ssize(draw.guesses) + 1);
  // Token and log-probs of each draw, all exact in float64; -1: not drawn.
  at::Tensor shared = at::full({std::ssize(draws), most, 3}, -1.0, at::kDouble);
  auto row = shared.accessor<double, 3>();
  std::exception_ptr failure;
  if (ranks_->is_first()) try {
      const std::vector<Draws> drawn = draw_local(draws, logits);
      for (int64_t i = 0; i < std::ssize(drawn); ++i)
        for (int64_t j = 0; j < std::ssize(drawn[i]); ++j) {
          row[i][j][0] = static_cast<double>(drawn[i][j].token);
          row[i][j][1] = static_cast<double>(drawn[i][j].log_prob);
          row[i][j][2] = static_cast<double>(drawn[i][j].processed_log_prob);
        }
    } catch (...) {
      failure = std::current_exception();  // the other ranks wait for the broadcast; -1 reports the failure
    }
  ranks_->broadcast(shared, 0, "drawn tokens");
  if (failure) std::rethrow_exception(failure);
  if (row[0][0][0] < 0) throw AnotherRankFailed(0, 1);
  std::vector<Draws> drawn(draws.size());
  for (int64_t i = 0; i < std::ssize(draws); ++i)
    for (int64_t j = 0; j < most && row[i][j][0] >= 0; ++j) {
      const auto token = static_cast<int64_t>(row[i][j][0]);
      drawn[i].push_back({draws[i].slot, token, static_cast<float>(row[i][j][1]), static_cast<float>(row[i][j][2])});
      if (!ranks_->is_first()) slots_[draws[i].slot].take(token);
    }
  return drawn;
}

}  // namespace roll
