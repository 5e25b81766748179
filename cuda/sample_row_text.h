// The kernel that draws one token out of one row of logits, as text over a block of lanes (lane_block.h): what all
// lanes know stands in plain variables, what they do together in calls of the block. It draws what RowSampler
// (ops/sample_row.h) draws.
#pragma once

#include "cuda/lane_block.h"
#include "cuda/sample_rows.h"

namespace roll {

/// A row of logits and what is drawn from it.
struct SampledRow {
  float* logits = nullptr;  // [V]; touched tokens are changed in place
  int64_t vocab = 0;
  SlotState* slot = nullptr;
  TouchedToken* touched = nullptr;
  float* untouched = nullptr;  // memory for the logits of touched tokens
};

/// Memory that the lanes share.
constexpr int kSampleSums = 2048, kSampleGroup = 64;
template <class Block>
struct SampleShared {
  typename Block::template Cell<uint64_t> sums[kSampleSums], groups[kSampleSums / kSampleGroup], rest;
  typename Block::template Cell<int32_t> found;
  typename Block::template Cell<uint32_t> is_bad;
};

namespace sampling {

struct Found {
  int64_t index;
  uint64_t rest;  // of the target behind those before it
};

/// The first of sums[0..n) up to which they add up to more than `target`.
template <class Block>
ROLL_KERNEL_TEXT Found find_in_sums(const Block& block, SampleShared<Block>& shared, int64_t n, uint64_t target) {
  constexpr int kGroup = kSampleGroup;
  block.each((n + kGroup - 1) / kGroup, [&](int64_t group) {
    uint64_t sum = 0;
    for (int64_t i = group * kGroup; i < n && i < (group + 1) * kGroup; ++i) sum += shared.sums[i];
    shared.groups[group] = sum;
  });
  block.once([&] {
    uint64_t left = target;
    int64_t group = 0;
    while (left >= shared.groups[group]) left -= shared.groups[group++];
    int64_t i = group * kGroup;
    while (left >= shared.sums[i]) left -= shared.sums[i++];
    shared.found = static_cast<int32_t>(i);
    shared.rest = left;
  });
  return {shared.found, shared.rest};
}

/// Numbers per chunk, so that both the chunks and what is in one fit the shared sums.
ROLL_HOST_DEVICE int64_t chunk_size(int64_t n) {
  const int64_t least = (n + kSampleSums - 1) / kSampleSums;
  return least <= 256 ? 256 : (least + 31) / 32 * 32;
}

/// shared.sums: those of the chunks of [0, n); returns the sum of all.
template <class Block, class Weight>
ROLL_KERNEL_TEXT uint64_t sum_all(const Block& block, SampleShared<Block>& shared, int64_t n, const Weight& weight) {
  const int64_t size = chunk_size(n);
  block.sum_chunks(n, size, weight, shared.sums);
  return block.sum((n + size - 1) / size, [&](int64_t chunk) -> uint64_t { return shared.sums[chunk]; });
}

/// After sum_all: the first of [0, n) up to which weights add up to more than `target`.
template <class Block, class Weight>
ROLL_KERNEL_TEXT int64_t find_after_sum(const Block& block, SampleShared<Block>& shared, int64_t n, uint64_t target,
                                        const Weight& weight) {
  const int64_t size = chunk_size(n);
  const Found chunk = find_in_sums(block, shared, (n + size - 1) / size, target);
  const int64_t first = chunk.index * size, count = n - first < size ? n - first : size;
  block.each(count, [&](int64_t i) { shared.sums[i] = weight(first + i); });
  return first + find_in_sums(block, shared, count, chunk.rest).index;
}

struct Weighted {
  uint32_t key;
  uint64_t weight;  // 0: left out
};

struct Threshold {
  uint32_t key = 0;
  uint64_t above = 0;  // weight of larger keys
};

/// The largest key whose own and larger ones weigh at least `needed`, which all of [0, n) do. Three passes, each of
/// which sums by some bits of the keys that agree with the answer so far.
template <class Block, class Of>
ROLL_KERNEL_TEXT Threshold find_threshold(const Block& block, SampleShared<Block>& shared, int64_t n, uint64_t needed,
                                          const Of& of) {
  Threshold answer;
  uint32_t known = 0;  // bits
  uint64_t missing = needed;
  const int shifts[] = {21, 10, 0};
  for (const int shift : shifts) {
    const uint32_t bins = shift == 0 ? 1024 : 2048;
    block.each(bins, [&](int64_t bin) { shared.sums[bin] = 0; });
    block.each(n, [&](int64_t i) {
      const Weighted item = of(i);
      if (item.weight == 0 || (item.key & known) != answer.key) return;
      block.add(&shared.sums[bins - 1 - (item.key >> shift & (bins - 1))], item.weight);  // large keys first
    });
    const Found bin = find_in_sums(block, shared, bins, missing - 1);
    answer.key |= (bins - 1 - static_cast<uint32_t>(bin.index)) << shift;
    known |= (bins - 1) << shift;
    answer.above += missing - 1 - bin.rest;
    missing = bin.rest + 1;
  }
  return answer;
}

/// Which tokens may be drawn.
struct Filter {
  uint32_t least_key = 0;   // of the logit
  uint32_t least_bits = 0;  // of p
  int64_t ties_end = 0;     // tokens of just that p stay below it
  float least_p = 0;
};

/// A row whose exponentials are computed where they are needed: they cost less than memory.
struct Probabilities {
  const float* logits;
  float top, scale;

  ROLL_HOST_DEVICE float operator()(int64_t i) const { return exp_negative((logits[i] - top) * scale); }
};

ROLL_HOST_DEVICE uint64_t kept_mass(const Filter& filter, const Probabilities& p, int64_t i) {
  if (ordered_key(p.logits[i]) < filter.least_key) return 0;
  const float own = p(i);
  const uint32_t bits = bits_of(own);
  if (own < filter.least_p || bits < filter.least_bits || (bits == filter.least_bits && i >= filter.ties_end)) return 0;
  return mass_of(own);
}

/// Narrows `filter`, which kept `all`, to the tokens of top_p.
template <class Block>
ROLL_KERNEL_TEXT void keep_top_p(const Block& block, SampleShared<Block>& shared, const SampledRow& row,
                                 const Probabilities& p, uint64_t all, Filter& filter) {
  const uint64_t needed = needed_mass(row.slot->sampling.top_p, all);
  const Threshold least = find_threshold(block, shared, row.vocab, needed, [&](int64_t i) {
    return Weighted{bits_of(p(i)), kept_mass(filter, p, i)};
  });
  const uint64_t tie = mass_of(float_of(least.key)), num_ties = (needed - least.above + tie - 1) / tie;
  const auto is_tie = [&](int64_t i) -> uint64_t {
    return kept_mass(filter, p, i) > 0 && bits_of(p(i)) == least.key ? 1 : 0;
  };
  sum_all(block, shared, row.vocab, is_tie);
  filter.ties_end = find_after_sum(block, shared, row.vocab, num_ties - 1, is_tie) + 1;
  filter.least_bits = least.key;
}

template <class Block>
ROLL_KERNEL_TEXT Filter filter_of(const Block& block, SampleShared<Block>& shared, const SampledRow& row,
                                  const Probabilities& p) {
  const RowSampling& sampling = row.slot->sampling;
  Filter filter;
  filter.ties_end = row.vocab;
  if (sampling.top_k > 0 && sampling.top_k < row.vocab)
    filter.least_key = find_threshold(block, shared, row.vocab, static_cast<uint64_t>(sampling.top_k), [&](int64_t i) {
                         return Weighted{ordered_key(row.logits[i]), 1};
                       }).key;
  if (sampling.top_p < 1) {
    const uint64_t all = block.sum(row.vocab, [&](int64_t i) { return kept_mass(filter, p, i); });
    keep_top_p(block, shared, row, p, all, filter);
  }
  filter.least_p = sampling.least_p;
  return filter;
}

template <class Block>
ROLL_KERNEL_TEXT Probabilities probabilities_of(const Block& block, const SampledRow& row) {
  const float top = block.largest(row.vocab, [&](int64_t i) { return row.logits[i]; });
  return {row.logits, top, static_cast<float>(row.slot->sampling.inverse_temperature)};
}

/// Mass of the whole row; notes logits that are no numbers.
template <class Block>
ROLL_KERNEL_TEXT uint64_t mass_of_row(const Block& block, SampleShared<Block>& shared, const SampledRow& row,
                                      const Probabilities& p) {
  return block.sum(row.vocab, [&](int64_t i) {
    if (!(row.logits[i] - p.top <= 0)) block.add(&shared.is_bad, 1);
    return mass_of(p(i));
  });
}

/// The token that the filter and the random bits pick, and the mass that it was picked from.
template <class Block>
ROLL_KERNEL_TEXT Found pick(const Block& block, SampleShared<Block>& shared, const SampledRow& row,
                            const Probabilities& p) {
  const Filter filter = filter_of(block, shared, row, p);
  const auto mass = [&](int64_t i) { return kept_mass(filter, p, i); };
  const uint64_t all = sum_all(block, shared, row.vocab, mass);
  const uint64_t target = target_of(first_bits(named_words(row.slot->name)), all);
  return {find_after_sum(block, shared, row.vocab, target, mass), all};
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
  block.once([&] { shared.is_bad = 0; });
  const Probabilities raw = probabilities_of(block, row);
  const uint64_t raw_mass = mass_of_row(block, shared, row, raw);
  const int64_t num_touched = slot.num_touched;
  block.each(num_touched, [&](int64_t i) {
    float& logit = row.logits[row.touched[i].token];
    row.untouched[i] = logit;
    logit = touched_logit(logit, row.touched[i], params);
  });
  const Probabilities p = num_touched > 0 ? probabilities_of(block, row) : raw;
  if (num_touched > 0) mass_of_row(block, shared, row, p);  // a bias may have made it infinite
  if (shared.is_bad) return {-1, 0, 0};
  Found found = {0, 0};
  if (params.is_greedy)
    found.index = block.smallest(row.vocab, [&](int64_t i) { return row.logits[i] == p.top ? i : row.vocab; });
  else
    found = pick(block, shared, row, p);
  const int64_t place = place_of(block, row, found.index);
  const float own = row.logits[found.index];
  const DrawnToken drawn = {static_cast<int32_t>(found.index),
                            log_prob_of(place < num_touched ? row.untouched[place] : own, raw.top, params, raw_mass),
                            params.is_greedy ? 0.0f : log_prob_of(own, p.top, params, found.rest)};
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
