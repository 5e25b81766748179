// Bodies of the four sampling kernels behind sample_rows(): draw one token from each row of logits, the same token as
// RowSampler (ops/sample_row.h). They are templates over Block (lane_block.h): a GPU thread block, or a CPU stand-in in
// tests. Arguments and output: SampleRows. A row is cut into parts, and these into chunks (row_cut.h).
//   FindTops         one block per part: finds its largest logits
//   WeighParts       one block per part: sums its probability mass
//   ListCandidates   one block per part: lists its candidates, the tokens that top_k, top_p and min_p may keep
//   DrawRows         one block per row: draws a token
// Parts produce only maxima and integer sums, so that order does not matter. Logits are read once for maxima, once for
// masses, and once more with top_k, top_p or min_p. A touched token is one whose logit a bias or penalty changes.
#pragma once

#include "cuda/advance_slots.h"
#include "cuda/sample_filter.h"

namespace roll {

namespace sampling {

/// Returns row i of the launch; launch.draws[i].slot must not be -1.
ROLL_HOST_DEVICE SampledRow sampled_row(const SampleRows& launch, int64_t i) {
  const int32_t slot = launch.draws[i].slot;
  const int64_t touched = slot * launch.touched_per_slot;
  SampledRow row;
  row.logits = launch.logits + i * launch.stride;
  row.shard_stride = launch.shard_stride;
  row.cut = launch.cut;
  row.slot = launch.slots + slot;
  row.touched = launch.touched + touched;
  row.original_logits = launch.original_logits + touched;
  row.scratch = launch.scratch + i;
  return row;
}

/// Largest logits of a row.
struct Tops {
  float raw;       // before bias and penalties
  float adjusted;  // after them
};

/// Joins the results of two parts of a row: maxima.
struct JoinTops {
  ROLL_HOST_DEVICE PartTops operator()(const PartTops& a, const PartTops& b) const {
    return {larger(a.untouched, b.untouched), larger(a.raw_touched, b.raw_touched), larger(a.touched, b.touched), 0};
  }
};

/// Joins the results of two parts of a row: sums of masses, and the smallest token.
struct JoinMasses {
  ROLL_HOST_DEVICE PartMass operator()(const PartMass& a, const PartMass& b) const {
    return {a.raw + b.raw, a.all + b.all, a.first < b.first ? a.first : b.first, a.is_bad | b.is_bad};
  }
};

/// Returns the row's largest logits, from those of its parts in row.scratch.
template <class Block>
ROLL_KERNEL_TEXT Tops find_tops(const Block& block, const SampledRow& row) {
  const JoinTops join;
  PartTops tops{-INFINITY, -INFINITY, -INFINITY, 0};
  ROLL_UNROLL_BY(1)
  for (int32_t part = block.lane(); part < row.cut.parts(); part += Block::kLanes)
    tops = join(tops, row.scratch->tops[part]);
  tops = block.joined(tops, join);
  return {larger(tops.untouched, tops.raw_touched), larger(tops.untouched, tops.touched)};
}

/// Returns the row's mass, summed over its parts in row.scratch.
template <class Block>
ROLL_KERNEL_TEXT PartMass row_mass(const Block& block, const SampledRow& row) {
  PartMass mass{0, 0, INT32_MAX, 0};
  ROLL_UNROLL_BY(1)
  for (int32_t part = block.lane(); part < row.cut.parts(); part += Block::kLanes)
    mass = JoinMasses{}(mass, row.scratch->masses[part]);
  return block.joined(mass, JoinMasses{});
}

/// Returns the mass of a logit; a logit above p.top, which a bias can cause if p is relative to raw logits, counts as
/// p.top.
ROLL_HOST_DEVICE uint64_t capped_mass(const Probabilities& p, float logit) {
  return probability_mass(p(logit < p.top ? logit : p.top));
}

/// Returns true if ListCandidates lists candidates of the row: it is not greedy, and top_k, top_p or min_p is on.
ROLL_HOST_DEVICE bool has_candidates(const SampledRow& row) {
  return row.slot->sampling.is_greedy == 0 && is_filtered(row);
}

/// Calls f(index in row.touched, reference to the logit) for each touched token of the run, each in some lane. Ends
/// with a barrier.
template <class Block, class F>
ROLL_KERNEL_TEXT void each_touched(const Block& block, const SampledRow& row, const TokenRun& run, const F& f) {
  block.each(row.slot->num_touched, [&](int32_t i) {
    const int32_t offset = row.touched[i].token - run.first;
    if (0 <= offset && offset < run.count) f(i, run.logits[offset]);
  });
}

}  // namespace sampling

/// Base class of the kernels with one block per part of a row.
template <int kNumLanes>
struct PartKernel {
  static constexpr int kLanes = kNumLanes;
  SampleRows launch;

  int64_t num_blocks() const { return launch.rows * launch.cut.parts(); }
  /// Calls f(row, index of the part in the row) for block `index`, unless the row draws nothing.
  template <class F>
  ROLL_KERNEL_TEXT void with_part(int64_t index, const F& f) const {
    const int32_t parts = launch.cut.parts(), i = static_cast<int32_t>(index) / parts;
    if (launch.draws[i].slot >= 0) f(sampling::sampled_row(launch, i), static_cast<int32_t>(index) - i * parts);
  }
};

/// Kernel 1: finds the largest logits of each part. Saves the logits of touched tokens in row.original_logits and sets
/// them to -infinity, so that the scan of untouched tokens skips them. Sets the counts of the later kernels to 0.
template <int kNumLanes = 512>
struct FindTops : PartKernel<kNumLanes> {
  template <class>
  using Shared = NoShared;

  template <class Block>
  ROLL_KERNEL_TEXT void run(const Block& block, NoShared&, int64_t index) const {
    using namespace sampling;
    this->with_part(index, [&](const SampledRow& row, int32_t part) {
      if (part == 0 && has_candidates(row)) {
        block.each(kSampleBins, [&](int32_t bin) { row.scratch->counts[bin] = 0; });
        block.once([&] { row.scratch->num_candidates = 0; });
      }
      const TokenRun part_run = row.part(part);
      PartTops tops{-INFINITY, -INFINITY, -INFINITY, 0};
      each_touched(block, row, part_run, [&](int32_t i, float& logit) {
        row.original_logits[i] = logit;
        tops.raw_touched = larger(tops.raw_touched, logit);
        tops.touched = larger(tops.touched, touched_logit(logit, row.touched[i], row.slot->sampling));
        logit = -INFINITY;
      });
      each_logit(block, part_run, block.lane(), Block::kLanes,
                 [&](int32_t, float logit) { tops.untouched = larger(tops.untouched, logit); });
      tops = block.joined(tops, JoinTops{});
      block.once([&] { row.scratch->tops[part] = tops; });
    });
  }
};

/// Kernel 2: writes the logits of touched tokens after bias and penalties, and computes the masses of each part and its
/// chunks. Counts the tokens per bin if has_candidates(row).
template <int kNumLanes = 512>
struct WeighParts : PartKernel<kNumLanes> {
  template <class Block>
  using Shared = BinsShared<Block>;

  template <class Block>
  ROLL_KERNEL_TEXT void run(const Block& block, BinsShared<Block>& shared, int64_t index) const {
    using namespace sampling;
    this->with_part(index, [&](const SampledRow& row, int32_t part) {
      const RowSampling& sampling = row.slot->sampling;
      const auto scale = static_cast<float>(sampling.inverse_temperature);
      const Tops tops = find_tops(block, row);
      const Probabilities p{tops.adjusted, scale}, raw{tops.raw, scale};
      const bool counts = has_candidates(row), is_same = tops.raw == tops.adjusted;
      if (counts) block.each(kSampleBins, [&](int32_t bin) { shared.counts[bin] = 0; });
      const TokenRun part_run = row.part(part);
      PartMass mass{0, 0, INT32_MAX, 0};
      each_touched(block, row, part_run, [&](int32_t i, float& logit) {
        const float original = row.original_logits[i];
        logit = touched_logit(original, row.touched[i], sampling);
        mass.raw += capped_mass(raw, original) - capped_mass(raw, logit);  // weigh() adds the latter
      });
      if (counts)
        is_same ? weigh<true, true>(block, shared, row, part, p, raw, mass)
                : weigh<true, false>(block, shared, row, part, p, raw, mass);
      else
        is_same ? weigh<false, true>(block, shared, row, part, p, raw, mass)
                : weigh<false, false>(block, shared, row, part, p, raw, mass);
      mass = block.joined(mass, JoinMasses{});
      block.once([&] { row.scratch->masses[part] = mass; });
      for (int32_t bin = block.lane(); bin < kSampleBins && counts; bin += Block::kLanes)
        if (const uint32_t count = shared.counts[bin]) block.add(&row.scratch->counts[bin], count);
    });
  }

 private:
  /// Adds the part's masses to `mass`, except for the touched tokens' change of mass.raw, and stores the chunks'
  /// masses. kCounts: counts tokens per bin. kIsSame: bias and penalties do not change the largest logit, so that one
  /// mass serves both sums, mass.raw and mass.all.
  template <bool kCounts, bool kIsSame, class Block>
  static ROLL_KERNEL_TEXT void weigh(const Block& block, BinsShared<Block>& shared, const SampledRow& row, int32_t part,
                                     const sampling::Probabilities& p, const sampling::Probabilities& raw,
                                     PartMass& mass) {
    const TokenRun part_run = row.part(part);
    for (int32_t chunk = block.lane() / kWarp; chunk < row.cut.chunks; chunk += Block::kWarps) {
      uint64_t sum = 0;
      sampling::each_logit(block, part_run.piece(chunk, row.cut.chunk_size), block.lane() % kWarp, kWarp,
                           [&](int32_t id, float logit) {
                             if (!(logit - p.top <= 0)) mass.is_bad = 1;
                             if (logit == p.top && id < mass.first) mass.first = id;
                             sum += probability_mass(p(logit));
                             if (!kIsSame) mass.raw += sampling::capped_mass(raw, logit);
                             if (kCounts) block.add(&shared.counts[p.logit_bin(logit)], 1);
                           });
      sum = block.joined_in_warp(sum, [](uint64_t a, uint64_t b) { return a + b; });
      if (block.lane() % kWarp > 0) continue;
      row.scratch->chunks[part * row.cut.chunks + chunk] = sum;
      mass.all += sum;
      if (kIsSame) mass.raw += sum;
    }
  }
};

/// Kernel 3: lists the candidates in row.scratch: all tokens that top_k, top_p and min_p keep, and some that they do
/// not. If there are more than kMostCandidates, the further ones are only counted; DrawRows then scans the whole row.
template <int kNumLanes = 512>
struct ListCandidates : PartKernel<kNumLanes> {
  template <class Block>
  using Shared = BinsShared<Block>;

  template <class Block>
  ROLL_KERNEL_TEXT void run(const Block& block, BinsShared<Block>& shared, int64_t index) const {
    using namespace sampling;
    this->with_part(index, [&](const SampledRow& row, int32_t part) {
      if (!has_candidates(row)) return;
      const PartMass mass = row_mass(block, row);
      if (mass.is_bad) return;
      const Probabilities p{find_tops(block, row).adjusted, static_cast<float>(row.slot->sampling.inverse_temperature)};
      block.each_fourth(kSampleBins, [&](int32_t bin) {
        const Vector<uint32_t, 4> bin_counts = block.template load<4>(row.scratch->counts + bin);
        block.store(&shared.counts[bin], bin_counts);
      });
      const int32_t last = last_bin(block, shared, row, mass.all);
      each_logit(block, row.part(part), block.lane(), Block::kLanes, [&](int32_t id, float logit) {
        if (p.logit_bin(logit) > last) return;
        const uint32_t candidate = block.add(&row.scratch->num_candidates, 1);
        if (candidate < kMostCandidates)
          row.scratch->candidates[candidate] = static_cast<uint64_t>(id) << 32 | float_bits(logit);
      });
    });
  }
};

namespace sampling {

/// Returns the smallest token id of the whole row whose cumulative mass exceeds `target` (inverse CDF). `target` must
/// be below the row's total mass. The first warp scans the masses of the chunks, then the tokens of the chunk that it
/// found, 32 at a time.
template <class Block>
ROLL_KERNEL_TEXT int32_t find_in_row(const Block& block, SampleShared<Block>& shared, const SampledRow& row,
                                     const Probabilities& p, uint64_t target) {
  const auto first_beyond = [&](int32_t end, const auto& weight) {
    for (int32_t begin = 0;; begin += kWarp) {  // ends, because target < total mass
      const int32_t index = begin + block.lane();
      uint64_t sum = index < end ? weight(index) : 0;  // inclusive prefix sum over lanes
      for (int offset = 1; offset < kWarp; offset *= 2) {
        const uint64_t before = block.shuffle_up(sum, offset);
        if (block.lane() >= offset) sum += before;
      }
      const int num_before = ones_from_below(~block.ballot(sum > target));
      const uint64_t all = block.shuffle(sum, kWarp - 1),
                     left = block.shuffle(sum, num_before > 0 ? num_before - 1 : 0);
      if (num_before < kWarp) {
        target -= num_before > 0 ? left : 0;
        return begin + num_before;
      }
      target -= all;
    }
  };
  const int32_t num_chunks = row.cut.parts() * row.cut.chunks;
  block.each(num_chunks, [&](int32_t i) { shared.list[i] = row.scratch->chunks[i]; });
  if (block.lane() < kWarp) {
    const int32_t chunk = first_beyond(num_chunks, [&](int32_t i) -> uint64_t { return shared.list[i]; });
    const TokenRun run = row.part(chunk / row.cut.chunks).piece(chunk % row.cut.chunks, row.cut.chunk_size);
    const int32_t in_chunk = first_beyond(run.count, [&](int32_t i) { return probability_mass(p(run.logits[i])); });
    if (block.lane() == 0) shared.found = run.first + in_chunk;
  }
  block.barrier();
  return shared.found;
}

/// A drawn token.
struct Found {
  int32_t token;
  uint64_t all;  // total mass of the tokens that could be drawn
};

/// Draws a token of a row that is not greedy, by the slot's next random number. all: mass of the whole row.
template <class Block>
ROLL_KERNEL_TEXT Found pick(const Block& block, SampleShared<Block>& shared, const SampledRow& row,
                            const Probabilities& p, uint64_t all) {
  const uint64_t bits = first_bits(named_words(row.slot->name));
  if (!is_filtered(row)) return {find_in_row(block, shared, row, p, draw_target(bits, all)), all};
  const uint32_t count = row.scratch->num_candidates;
  const bool is_listed = count <= kMostCandidates;
  if (is_listed) block.each(count, [&](uint32_t i) { shared.list[i] = row.scratch->candidates[i]; });
  const Tokens<Block> tokens{block, shared, row, is_listed ? static_cast<int32_t>(count) : -1};
  const Filter filter = find_filter(block, tokens, p, all);
  const auto mass = [&](int32_t id, float logit) { return kept_mass(filter, p, id, logit); };
  const uint64_t kept = tokens.sum(mass);
  return {find_id(block, tokens, draw_target(bits, kept), mass), kept};
}

/// Draws a token and returns it in every lane; token -1 if a logit is NaN or +infinity. If `advances_slot`, calls
/// advance_slot() for it; the caller updates the slot's length.
template <class Block>
ROLL_KERNEL_TEXT DrawnToken draw_row(const Block& block, SampleShared<Block>& shared, const SampledRow& row,
                                     bool advances_slot) {
  SlotState& slot = *row.slot;
  const RowSampling& params = slot.sampling;
  const PartMass mass = row_mass(block, row);
  if (mass.is_bad) return {-1, 0, 0};
  const Tops tops = find_tops(block, row);
  const Probabilities p{tops.adjusted, static_cast<float>(params.inverse_temperature)};
  const int64_t num_touched = slot.num_touched;
  const Found found = params.is_greedy ? Found{mass.first, 0} : pick(block, shared, row, p, mass.all);
  const int64_t touched_index = find_touched(block, slot, row.touched, found.token);
  const float token_logit = row.logit(found.token);
  const DrawnToken drawn = {
      found.token,
      sampled_log_prob(touched_index < num_touched ? row.original_logits[touched_index] : token_logit, tops.raw, params,
                       mass.raw),
      params.is_greedy ? 0.0f : sampled_log_prob(token_logit, p.top, params, found.all)};
  if (advances_slot) block.once([&] { advance_slot(slot, row.touched, drawn.token, touched_index); });
  return drawn;
}

}  // namespace sampling

/// Kernel 4: draws; one block per row. Writes drawn[i], and advances the slot if launch.advances_slots.
template <int kNumLanes = 512>
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
    const DrawnToken drawn = sampling::draw_row(block, shared, sampling::sampled_row(launch, i), launch.advances_slots);
    block.once([&] {
      launch.drawn[i] = drawn;
      if (launch.advances_slots) launch.slots[draw.slot].length += draw.is_decoding;
    });
  }
};

/// Calls run(kernel) for the four kernels, in the order in which they must run on one stream.
template <int kLanes = 512, class Run>
void each_sampling_kernel(const SampleRows& rows, const Run& run) {
  run(FindTops<kLanes>{{rows}});
  run(WeighParts<kLanes>{{rows}});
  run(ListCandidates<kLanes>{{rows}});
  run(DrawRows<kLanes>{rows});
}

}  // namespace roll
