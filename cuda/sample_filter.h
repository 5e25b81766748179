// top_k, top_p and min_p ("the filter") for the kernels of sample_row_text.h. First, last_bin() finds in a histogram of
// the logits which tokens of a row the filter may keep: the candidates. Then, find_filter() finds exact thresholds
// among the candidates, which usually fit in shared memory. All sums are integers, so that their order does not matter.
// All lanes of a block must call the functions that take `block`, and the member functions of Tokens and Bins. Only
// each_logit() is called by just the lanes that share the run. A touched token is one whose logit a bias or penalty
// changes. Mass: relative probability as an integer, probability_mass() of sampling_math.h.
#pragma once

#include "cuda/device_math.h"
#include "cuda/lane_block.h"
#include "cuda/sample_rows.h"

namespace roll {

/// Consecutive tokens with contiguous logits, 16-byte aligned.
struct TokenRun {
  float* logits;         // [count]
  int32_t first, count;  // token ids [first, first + count)

  /// Cuts the run into pieces of `size` tokens (the last may be shorter), and returns piece `index`, from 0. Pieces
  /// behind the last are empty.
  ROLL_HOST_DEVICE TokenRun piece(int32_t index, int32_t size) const {
    const int32_t from = index * size, left = count - from;
    return {logits + from, first + from, left < 0 ? 0 : left < size ? left : size};
  }
};

/// A row of logits with the slot that draws from it; made by sampled_row() (sample_row_text.h). The pointers are those
/// of SampleRows, moved to this row or slot.
struct SampledRow {
  float* logits = nullptr;   // logit of token 0; shard s begins at logits + s * shard_stride
  int64_t shard_stride = 0;  // elements from shard to shard
  RowCut cut;                // partition of the row into shards, parts and chunks
  SlotState* slot = nullptr;
  TouchedToken* touched = nullptr;   // [slot->num_touched]
  float* original_logits = nullptr;  // [slot->num_touched]: logits of the touched tokens before bias and penalties
  RowScratch* scratch = nullptr;

  /// Returns shard `index` of the row, in [0, cut.shards).
  ROLL_HOST_DEVICE TokenRun shard(int32_t index) const {
    const int32_t first = cut.shard_begin(index);
    return {logits + index * shard_stride, first, cut.shard_begin(index + 1) - first};
  }
  /// Returns part `index` of the row, in [0, cut.parts()).
  ROLL_HOST_DEVICE TokenRun part(int32_t index) const {
    return shard(index / cut.splits).piece(index % cut.splits, cut.part_size);
  }
  ROLL_HOST_DEVICE float logit(int32_t token) const {
    const TokenRun run = shard(cut.token_shard(token));
    return run.logits[token - run.first];
  }
};

/// Shared memory of WeighParts and ListCandidates: numbers of tokens per bin (Probabilities::logit_bin()).
template <class Block>
struct BinsShared {
  alignas(16) typename Block::template Cell<uint32_t> counts[kSampleBins];
};

/// Shared memory of DrawRows.
template <class Block>
struct SampleShared {
  /// With a filter, the candidates as in RowScratch: token id << 32 | bits of the logit. Without, the chunks' masses.
  typename Block::template Cell<uint64_t> list[kMostCandidates];
  typename Block::template Cell<int32_t> found;  // token found by find_in_row()
};

namespace sampling {

/// Function object that computes a token's relative probability from its logit: 1 for the most likely token, else less.
/// Its objects are named p, so that a call reads p(logit). Computing again at each use is cheaper than reading memory.
struct Probabilities {
  float top;    // largest logit of the row
  float scale;  // 1 / temperature

  /// Returns log p(logit), at most 0.
  ROLL_HOST_DEVICE float exponent(float logit) const { return (logit - top) * scale; }
  ROLL_HOST_DEVICE float operator()(float logit) const { return exp_negative(exponent(logit)); }
  /// Returns the bin of a logit, in [0, kSampleBins). Bin b has the tokens with log p in (-(b + 1) / 64, -b / 64]; the
  /// last bin also has all below.
  ROLL_HOST_DEVICE int32_t logit_bin(float logit) const {
    const float scaled = exponent(logit) * -64.0f;
    return scaled < kSampleBins - 1 ? static_cast<int32_t>(scaled) : kSampleBins - 1;
  }
};

/// Calls f(id, logit) for the tokens of the run that fall to lane `lane`, in [0, lanes). `lanes`: number of lanes that
/// share the run, those of a block or of a warp. No barrier.
template <class Block, class F>
ROLL_KERNEL_TEXT void each_logit(const Block& block, const TokenRun& run, int lane, int lanes, const F& f) {
  const int32_t whole = run.count / 4 * 4;
  ROLL_UNROLL_BY(2)
  for (int32_t i = 4 * lane; i < whole; i += 4 * lanes) {
    const Vector<float, 4> values = block.template load<4>(run.logits + i);
    for (int e = 0; e < 4; ++e) f(run.first + i + e, values.at[e]);
  }
  if (lane >= run.count - whole) return;
  const int32_t i = whole + lane;
  f(run.first + i, block.template load<1>(run.logits + i).at[0]);
}

/// The tokens of a row that find_filter() and find_id() look at: the candidates in shared.list, or the whole row if
/// there are too many candidates. The candidates include every token that the filter keeps.
template <class Block>
struct Tokens {
  const Block& block;
  SampleShared<Block>& shared;
  const SampledRow& row;
  int32_t num_candidates;  // entries of shared.list in use; -1: the whole row

  /// Calls f(id, logit) for each of these tokens once, in some lane. Ends without a barrier.
  template <class F>
  ROLL_KERNEL_TEXT void each(const F& f) const {
    for (int32_t i = 0; i < row.cut.shards && num_candidates < 0; ++i)
      each_logit(block, row.shard(i), block.lane(), Block::kLanes, f);
    for (int32_t i = block.lane(); i < num_candidates; i += Block::kLanes) {
      const uint64_t candidate = shared.list[i];
      f(static_cast<int32_t>(candidate >> 32), float_from_bits(static_cast<uint32_t>(candidate)));
    }
  }
  /// Returns the sum of weight(id, logit) over these tokens, in every lane.
  template <class F>
  ROLL_KERNEL_TEXT uint64_t sum(const F& weight) const {
    uint64_t local = 0;
    each([&](int32_t id, float logit) { local += weight(id, logit); });
    return block.joined(local, [](uint64_t a, uint64_t b) { return a + b; });
  }
};

/// The bins of a row, with their token counts in shared memory; for last_bin().
template <class Block>
struct Bins {
  const Block& block;
  BinsShared<Block>& shared;

  /// Calls f(bin, count) for each bin once, in some lane.
  template <class F>
  ROLL_KERNEL_TEXT void each(const F& f) const {
    for (int32_t bin = block.lane(); bin < kSampleBins; bin += Block::kLanes)
      f(bin, static_cast<uint32_t>(shared.counts[bin]));
  }
};

/// Key and weight of an item, a token or a bin, for find_threshold(), which looks for a large key.
struct Weighted {
  uint32_t key;
  uint64_t weight;  // 0: the item is left out
};

/// Result of find_threshold().
struct Threshold {
  uint32_t key = 0;
  uint64_t above = 0;  // total weight of the items with larger keys
};

/// Returns the largest key such that the items with this key or a larger one weigh at least `needed` together; key 0 if
/// all items weigh less. Keys are below 2^bits. Items: Tokens or Bins; items.each(f) calls f(id, x) for each item,
/// where x is a token's logit or a bin's count. to_weighted(id, x) returns the item's Weighted. Radix search, two bits
/// per pass; by_digit[d - 1] sums the weights of the items with digit d.
template <class Block, class Items, class ToWeighted>
ROLL_KERNEL_TEXT Threshold find_threshold(const Block& block, const Items& items, uint64_t needed, int bits,
                                          const ToWeighted& to_weighted) {
  struct Sums {
    uint64_t by_digit[3];
  };
  Threshold answer;
  for (int shift = (bits - 1) / 2 * 2; shift >= 0; shift -= 2) {
    Sums local{};
    items.each([&](auto id, auto x) {
      const Weighted item = to_weighted(id, x);
      const uint32_t digit = (item.key >> shift) - (answer.key >> shift);  // > 3: other upper bits
      for (uint32_t d = 1; d < 4; ++d) local.by_digit[d - 1] += digit == d ? item.weight : 0;
    });
    const Sums sums = block.joined(local, [](Sums a, const Sums& b) {
      for (int d = 0; d < 3; ++d) a.by_digit[d] += b.by_digit[d];
      return a;
    });
    uint32_t digit = 3;
    while (digit > 0 && answer.above + sums.by_digit[digit - 1] < needed) answer.above += sums.by_digit[--digit];
    answer.key |= digit << shift;
  }
  return answer;
}

/// Bits of a token id. The largest vocabulary has 2^22 tokens.
constexpr int kIdBits = 22;
/// Returns a key that is the larger, the smaller the id is; also maps a key back to its id.
ROLL_HOST_DEVICE uint32_t id_key(int32_t id) {
  return (uint32_t{1} << kIdBits) - 1 - static_cast<uint32_t>(id);
}

/// Returns the smallest id such that weight(id, logit), summed over `tokens` up to this id, exceeds `target` (inverse
/// CDF). The total weight must exceed `target`.
template <class Block, class Weight>
ROLL_KERNEL_TEXT int32_t find_id(const Block& block, const Tokens<Block>& tokens, uint64_t target,
                                 const Weight& weight) {
  const auto to_weighted = [&](int32_t id, float logit) { return Weighted{id_key(id), weight(id, logit)}; };
  return static_cast<int32_t>(
      id_key(static_cast<int32_t>(find_threshold(block, tokens, target + 1, kIdBits, to_weighted).key)));
}

/// Thresholds of top_k, top_p and min_p; a token is kept if it meets all. The initial values keep all tokens with p >
/// 0. Here p is the probability relative to the most likely token.
struct Filter {
  uint32_t least_key = 0;   // top_k: smallest ordered_key(logit)
  uint32_t least_bits = 0;  // top_p: smallest p, as the bits of a float, which have the order of the floats
  int32_t ties_end = 0;     // top_p: of the tokens with this smallest p, only ids below this one are kept
  float least_p = 0;        // min_p: smallest p
};

/// Returns the token's mass if the filter keeps it, else 0.
ROLL_HOST_DEVICE uint64_t kept_mass(const Filter& filter, const Probabilities& p, int32_t id, float logit) {
  if (ordered_key(logit) < filter.least_key) return 0;
  const float probability = p(logit);
  const uint32_t bits = float_bits(probability);
  if (probability < filter.least_p || bits < filter.least_bits || (bits == filter.least_bits && id >= filter.ties_end))
    return 0;
  return probability_mass(probability);
}

/// Adds the thresholds of top_p to `filter`, which must have those of top_k. all: total mass of the tokens that
/// `filter` keeps before.
template <class Block>
ROLL_KERNEL_TEXT void keep_top_p(const Block& block, const Tokens<Block>& tokens, const Probabilities& p, uint64_t all,
                                 Filter& filter) {
  const uint64_t needed = needed_mass(tokens.row.slot->sampling.top_p, all);
  const Threshold least = find_threshold(block, tokens, needed, 32, [&](int32_t id, float logit) {
    return Weighted{float_bits(p(logit)), kept_mass(filter, p, id, logit)};
  });
  const uint64_t tie = probability_mass(float_from_bits(least.key)), num_ties = (needed - least.above + tie - 1) / tie;
  filter.ties_end = find_id(block, tokens, num_ties - 1,
                            [&](int32_t id, float logit) -> uint64_t {
                              return kept_mass(filter, p, id, logit) > 0 && float_bits(p(logit)) == least.key ? 1 : 0;
                            }) +
                    1;
  filter.least_bits = least.key;
}

/// Returns the thresholds of top_k, top_p and min_p. all: total mass of the whole row, after bias and penalties.
template <class Block>
ROLL_KERNEL_TEXT Filter find_filter(const Block& block, const Tokens<Block>& tokens, const Probabilities& p,
                                    uint64_t all) {
  const RowSampling& sampling = tokens.row.slot->sampling;
  Filter filter;
  filter.ties_end = tokens.row.cut.vocab;
  if (sampling.top_k > 0 && sampling.top_k < tokens.row.cut.vocab) {
    filter.least_key =
        find_threshold(block, tokens, static_cast<uint64_t>(sampling.top_k), 32, [](int32_t, float logit) {
          return Weighted{ordered_key(logit), 1};
        }).key;
    if (sampling.top_p < 1) all = tokens.sum([&](int32_t id, float logit) { return kept_mass(filter, p, id, logit); });
  }
  if (sampling.top_p < 1) keep_top_p(block, tokens, p, all, filter);
  filter.least_p = sampling.least_p;
  return filter;
}

/// Returns true if top_k, top_p or min_p can leave out tokens of the row.
ROLL_HOST_DEVICE bool is_filtered(const SampledRow& row) {
  const RowSampling& sampling = row.slot->sampling;
  return (sampling.top_k > 0 && sampling.top_k < row.cut.vocab) || sampling.top_p < 1 || sampling.least_p > 0;
}

/// Bits of a bin's number.
constexpr int kBinBits = 11;
static_assert(kSampleBins == (1 << kBinBits));

/// Returns the last bin that may hold tokens which the filter keeps: the candidates are the tokens of bins 0 to this
/// one. Looks at top_k alone if it is on, else at top_p, else at min_p. shared.counts must hold the counts of the whole
/// row. all: total mass of the whole row. Requires is_filtered(row).
template <class Block>
ROLL_KERNEL_TEXT int32_t last_bin(const Block& block, BinsShared<Block>& shared, const SampledRow& row, uint64_t all) {
  const RowSampling& sampling = row.slot->sampling;
  const Bins<Block> bins{block, shared};
  if (sampling.top_k > 0 && sampling.top_k < row.cut.vocab) {
    const auto likely_first = [](int32_t bin, uint32_t count) {
      return Weighted{static_cast<uint32_t>(kSampleBins - 1 - bin), count};
    };
    const auto needed = static_cast<uint64_t>(sampling.top_k);
    return kSampleBins - 1 - static_cast<int32_t>(find_threshold(block, bins, needed, kBinBits, likely_first).key);
  }
  if (sampling.top_p >= 1) {  // only min_p
    const float scaled = logf(sampling.least_p) * -64.0f + 1.0f;
    return scaled < kSampleBins - 1 ? static_cast<int32_t>(scaled) : kSampleBins - 1;
  }
  // Drops the last bins whose mass is at most what top_p leaves out, bounding each token by its bin's likeliest.
  const auto heaviest = [](int32_t bin, uint32_t count) {
    const uint64_t mass = probability_mass(exp_negative(static_cast<float>(bin) * (-1.0f / 64)));
    return Weighted{static_cast<uint32_t>(bin), count * (mass + (mass >> 16) + 1)};
  };
  const uint64_t left_out = all - needed_mass(sampling.top_p, all);
  return static_cast<int32_t>(find_threshold(block, bins, left_out + 1, kBinBits, heaviest).key);
}

}  // namespace sampling

}  // namespace roll
