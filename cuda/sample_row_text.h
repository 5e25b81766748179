// The kernel that draws one token out of one row of logits, as text over a block of lanes (lane_block.h): what all
// lanes know stands in plain variables, what they do together in calls of the block. It draws what RowSampler
// (ops/sample_row.h) draws.
#pragma once

#include "cuda/sample_filter.h"

namespace roll {

namespace sampling {

/// Numbers per chunk: so that chunks fit the shared list, and a multiple of what a warp reads at once.
ROLL_HOST_DEVICE int32_t chunk_size(int64_t vocab) {
  return static_cast<int32_t>((vocab + kSampleChunks * 128 - 1) / (kSampleChunks * 128) * 128);
}

template <class Block>
ROLL_KERNEL_TEXT Probabilities probabilities_of(const Block& block, const SampledRow& row) {
  float top = -INFINITY;
  each_logit(block, row, 0, static_cast<int32_t>(row.vocab), block.lane(), Block::kLanes,
             [&](int32_t, float logit) { top = larger(top, logit); });
  top = block.joined(top, [](float a, float b) { return larger(a, b); });
  return {top, static_cast<float>(row.slot->sampling.inverse_temperature)};
}

struct Mass {
  uint64_t all;
  bool is_bad;  // a logit is no number
};

/// The mass of the row; shared.list: those of its chunks, shared.counts: of tokens in bins.
template <class Block>
ROLL_KERNEL_TEXT Mass weigh(const Block& block, SampleShared<Block>& shared, const SampledRow& row,
                            const Probabilities& p) {
  const bool counts = is_filtered(row);
  block.each(kSampleBins, [&](int32_t bin) { shared.counts[bin] = 0; });
  const int32_t size = chunk_size(row.vocab), vocab = static_cast<int32_t>(row.vocab);
  uint64_t all = 0;
  uint32_t is_bad = 0;
  for (int32_t chunk = block.lane() / kWarp, begin = chunk * size; begin < vocab;
       chunk += Block::kWarps, begin = chunk * size) {
    uint64_t mine = 0;
    each_logit(block, row, begin, begin + size < vocab ? begin + size : vocab, block.lane() % kWarp, kWarp,
               [&](int32_t, float logit) {
                 if (!(logit - p.top <= 0)) is_bad = 1;
                 mine += mass_of(p(logit));
                 if (counts) block.add(&shared.counts[p.bin_of(logit)], 1);
               });
    mine = block.joined_in_warp(mine, [](uint64_t a, uint64_t b) { return a + b; });
    if (block.lane() % kWarp == 0) {
      shared.list[chunk] = mine;
      all += mine;
    }
  }
  all = block.joined(all, [](uint64_t a, uint64_t b) { return a + b; });
  is_bad = block.joined(is_bad, [](uint32_t a, uint32_t b) { return a | b; });
  return {all, is_bad != 0};
}

/// After `weigh`: the first token up to which all add up to more than `target`. The first warp goes over chunks, then
/// over the one that it has found, 32 numbers at once.
template <class Block>
ROLL_KERNEL_TEXT int32_t find_in_row(const Block& block, SampleShared<Block>& shared, const SampledRow& row,
                                     const Probabilities& p, uint64_t target) {
  const int32_t size = chunk_size(row.vocab), vocab = static_cast<int32_t>(row.vocab);
  const auto first_beyond = [&](int32_t begin, int32_t end, const auto& weight) {
    for (;; begin += kWarp) {  // the target is below the sum of all, and so the end is never reached
      const int32_t own = begin + block.lane();
      uint64_t sum = own < end ? weight(own) : 0;  // up to this one, from the first lane's on
      for (int offset = 1; offset < kWarp; offset *= 2) {
        const uint64_t before = block.shuffle_up(sum, offset);
        if (block.lane() >= offset) sum += before;
      }
      const int in_front = ones_from_below(~block.ballot(sum > target));
      const uint64_t all = block.shuffle(sum, kWarp - 1), left = block.shuffle(sum, in_front > 0 ? in_front - 1 : 0);
      if (in_front < kWarp) {
        target -= in_front > 0 ? left : 0;
        return begin + in_front;
      }
      target -= all;
    }
  };
  if (block.lane() < kWarp) {
    const int32_t chunk =
        first_beyond(0, (vocab + size - 1) / size, [&](int32_t i) -> uint64_t { return shared.list[i]; });
    const int32_t begin = chunk * size, end = begin + size < vocab ? begin + size : vocab;
    const int32_t token = first_beyond(begin, end, [&](int32_t i) { return mass_of(p(row.logits[i])); });
    if (block.lane() == 0) shared.found = token;
  }
  block.barrier();
  return shared.found;
}

struct Found {
  int32_t token;
  uint64_t all;  // mass that it was picked from
};

template <class Block>
ROLL_KERNEL_TEXT Found pick(const Block& block, SampleShared<Block>& shared, const SampledRow& row,
                            const Probabilities& p, uint64_t all) {
  const uint64_t bits = first_bits(named_words(row.slot->name));
  if (!is_filtered(row)) return {find_in_row(block, shared, row, p, target_of(bits, all)), all};
  const Tokens<Block> tokens = candidates_of(block, shared, row, p, all);
  const Filter filter = filter_of(block, tokens, p, all);
  const auto mass = [&](int32_t id, float logit) { return kept_mass(filter, p, id, logit); };
  const uint64_t kept = tokens.sum(mass);
  return {find_id(block, tokens, target_of(bits, kept), mass), kept};
}

/// The place of a token among the touched ones; their number: it is none.
template <class Block>
ROLL_KERNEL_TEXT int64_t place_of(const Block& block, const SampledRow& row, int64_t token) {
  const int64_t count = row.slot->num_touched;
  const int64_t place =
      block.smallest(count, [&](int64_t i) -> int64_t { return row.touched[i].token == token ? i : count; });
  return place < count ? place : count;
}

}  // namespace sampling

/// Draws, and moves the slot on: its random number, its last token and what penalties count.
template <class Block>
ROLL_KERNEL_TEXT DrawnToken sample_row(const Block& block, SampleShared<Block>& shared, const SampledRow& row) {
  using namespace sampling;
  SlotState& slot = *row.slot;
  const RowSampling& params = slot.sampling;
  Probabilities p = probabilities_of(block, row);
  Mass mass = weigh(block, shared, row, p);
  const float raw_top = p.top;
  const uint64_t raw_mass = mass.all;
  const int64_t num_touched = slot.num_touched;
  if (num_touched > 0) {
    block.each(num_touched, [&](int64_t i) {
      float& logit = row.logits[row.touched[i].token];
      row.untouched[i] = logit;
      logit = touched_logit(logit, row.touched[i], params);
    });
    p = probabilities_of(block, row);
    mass = weigh(block, shared, row, p);  // a number that is none stays one, and a bias may have made more
  }
  if (mass.is_bad) return {-1, 0, 0};
  Found found = {0, 0};
  if (params.is_greedy) {
    int32_t first = INT32_MAX;
    each_logit(block, row, 0, static_cast<int32_t>(row.vocab), block.lane(), Block::kLanes,
               [&](int32_t id, float logit) {
                 if (logit == p.top && id < first) first = id;
               });
    found.token = block.joined(first, [](int32_t a, int32_t b) { return a < b ? a : b; });
  } else {
    found = pick(block, shared, row, p, mass.all);
  }
  const int64_t place = place_of(block, row, found.token);
  const float own = row.logits[found.token];
  const DrawnToken drawn = {found.token,
                            log_prob_of(place < num_touched ? row.untouched[place] : own, raw_top, params, raw_mass),
                            params.is_greedy ? 0.0f : log_prob_of(own, p.top, params, found.all)};
  block.once([&] {
    slot.last_token = drawn.token;
    ++slot.name.position;
    if (!params.is_counting) return;
    if (place == num_touched) row.touched[slot.num_touched++] = {drawn.token, -1, 0};
    row.touched[place].count = counted(row.touched[place].count);
  });
  return drawn;
}

/// A block for each row.
template <int kNumLanes = 1024>
struct DrawRows {
  static constexpr int kLanes = kNumLanes;
  template <class Block>
  using Shared = SampleShared<Block>;
  SampleRows launch;

  int64_t num_blocks() const { return launch.rows; }
  template <class Block>
  ROLL_KERNEL_TEXT void run(const Block& block, SampleShared<Block>& shared, int64_t i) const {
    const RowDraw draw = launch.draws[i];
    if (draw.slot < 0) return;
    SlotState& slot = launch.slots[draw.slot];
    const int64_t touched = draw.slot * launch.touched_per_slot;
    const SampledRow row = {launch.logits + i * launch.stride, launch.vocab, &slot, launch.touched + touched,
                            launch.untouched + touched};
    const DrawnToken drawn = sample_row(block, shared, row);
    block.once([&] {
      launch.drawn[i] = drawn;
      slot.length += draw.is_decoding;
    });
  }
};

}  // namespace roll
