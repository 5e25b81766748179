// Kernels that route rows to experts in the GPU sampler (lib/decode/device_decoder.h): ChooseExperts, then SortChoices.
// The kernels of expert_products.h multiply its tiles. The launches depend on the number of rows alone, not on the
// choices, so that a graph can record them. Legend: N rows, X experts, K experts that each row chooses. Entries are the
// choices of all rows, sorted by expert.
#pragma once

#include "cuda/decode_kernels.h"

namespace roll {

constexpr int kMostExperts = 512, kMostChosen = 32;  // X, K

/// A router's rule: RoutingRule of ops/choose_experts.h, which explains it.
struct ExpertRule {
  int32_t count = 0, chosen = 0;  // X, K
  int32_t groups = 1, chosen_groups = 1;
  float scale = 1;
  float least_sum = 0;  // added to the sum of the weights before they are divided by it
  bool is_sigmoid = false, renormalises = false, ranks_by_largest = false;
};

/// Memory for the experts of cached tokens: training goes through the sampler's experts with routing_replay.
struct ExpertRecords {
  int16_t* experts = nullptr;       // [pages, page_size, width]; null: not kept
  const int32_t* tables = nullptr;  // [slots, table_width]: page numbers
  int32_t table_width = 0, page_size = 1;
  int32_t width = 0;  // elements per token
  int32_t first = 0;  // index of the mixture's first element among them

  /// Returns the K elements of a token.
  ROLL_HOST_DEVICE int16_t* at(const StepRow& row) const {
    const int32_t page = tables[int64_t{row.slot} * table_width + row.position / page_size];
    return experts + (int64_t{page} * page_size + row.position % page_size) * width + first;
  }
};

/// Returns 1 / (1 + e^-x), more exactly than gated_by(), because the choice of experts depends on the last bits.
ROLL_HOST_DEVICE float sigmoid(float x) {
  return x < -80.0f ? 0.0f : float_quotient(1.0f, 1.0f + expf(-x));
}

/// Shared memory of ChooseExperts.
template <class Block>
struct ChooseShared {
  typename Block::template Cell<float> probabilities[kMostExperts], scores[kMostExperts], group_scores[kMostExperts];
};

/// Kernel: chooses experts for each row as ops/choose_experts.h does, a warp per row. Padding rows choose -1.
struct ChooseExperts {
  static constexpr int kLanes = 32;
  template <class Block>
  using Shared = ChooseShared<Block>;
  const float* logits = nullptr;  // [N, stride]: a row begins with the X of the router
  const float* bias = nullptr;    // [X], or null: added to the probabilities for the choice alone
  const StepRow* rows = nullptr;  // [N]
  int32_t* choices = nullptr;     // [N, K], the best first
  float* weights = nullptr;       // [N, K]
  ExpertRecords records{};
  ExpertRule rule{};
  int64_t num_rows = 0, stride = 0;  // N

  int64_t num_blocks() const { return num_rows; }
  template <class Block>
  ROLL_KERNEL_TEXT void run(const Block& block, ChooseShared<Block>& shared, int64_t i) const {
    const StepRow row = rows[i];
    const int32_t count = rule.count, chosen = rule.chosen;
    if (row.slot < 0) return block.each(chosen, [&](int32_t k) { choices[i * chosen + k] = -1; });
    set_probabilities(block, shared, logits + i * stride);
    block.each(count, [&](int32_t e) {
      const float score = shared.probabilities[e] + (bias ? bias[e] : 0.0f);
      shared.scores[e] = score == score ? score : INFINITY;  // chosen, so that NaN reaches the logits
    });
    if (rule.chosen_groups < rule.groups) mask_other_groups(block, shared);
    int16_t* const record = records.experts ? records.at(row) : nullptr;
    float sum = rule.least_sum;
    for (int32_t k = 0; k < chosen; ++k) {
      Best best{-INFINITY, count};
      for (int32_t e = block.lane(); e < count; e += kLanes) best = better(best, {shared.scores[e], e});
      best = block.joined(best, [](Best a, Best b) { return better(a, b); });
      const int32_t expert = best.index;
      const float probability = shared.probabilities[expert];
      sum += probability;
      block.once([&] {
        shared.scores[expert] = -INFINITY;
        choices[i * chosen + k] = expert;
        weights[i * chosen + k] = probability;
        if (record) record[k] = static_cast<int16_t>(expert);
      });
    }
    block.each(chosen, [&](int32_t k) {
      float& weight = weights[i * chosen + k];
      weight = (rule.renormalises ? float_quotient(weight, sum) : weight) * rule.scale;
    });
  }

 private:
  struct Best {
    float score;
    int32_t index;
  };
  /// Returns the one with the larger score; of equals, the one with the lower index.
  static ROLL_HOST_DEVICE Best better(Best a, Best b) {
    return b.score > a.score || (b.score == a.score && b.index < a.index) ? b : a;
  }

  template <class Block>
  ROLL_KERNEL_TEXT void set_probabilities(const Block& block, ChooseShared<Block>& shared, const float* row) const {
    const int32_t count = rule.count;
    if (rule.is_sigmoid) return block.each(count, [&](int32_t e) { shared.probabilities[e] = sigmoid(row[e]); });
    float largest = -INFINITY, sum = 0;
    for (int32_t e = block.lane(); e < count; e += kLanes) largest = larger(largest, row[e]);
    largest = block.joined(largest, [](float a, float b) { return larger(a, b); });
    for (int32_t e = block.lane(); e < count; e += kLanes) sum += expf(row[e] - largest);
    sum = block.joined(sum, [](float a, float b) { return a + b; });
    block.each(count, [&](int32_t e) { shared.probabilities[e] = float_quotient(expf(row[e] - largest), sum); });
  }

  /// Sets the scores of experts outside the best groups to -infinity.
  template <class Block>
  ROLL_KERNEL_TEXT void mask_other_groups(const Block& block, ChooseShared<Block>& shared) const {
    const int32_t groups = rule.groups, size = rule.count / groups;
    block.each(groups, [&](int32_t group) {
      float best = -INFINITY, next = -INFINITY;
      for (int32_t e = group * size; e < (group + 1) * size; ++e) {
        const float score = shared.scores[e];
        next = larger(next, score < best ? score : best);
        best = larger(best, score);
      }
      shared.group_scores[group] = rule.ranks_by_largest ? best : best + next;
    });
    block.each(groups, [&](int32_t group) {
      const float score = shared.group_scores[group];
      int32_t place = 0;
      for (int32_t other = 0; other < groups; ++other) {
        const float rival = shared.group_scores[other];
        place += rival > score || (rival == score && other < group);
      }
      for (int32_t e = group * size; e < (group + 1) * size && place >= rule.chosen_groups; ++e)
        shared.scores[e] = -INFINITY;
    });
  }
};

/// Entries [first, first + count), all of one expert, that a block of MultiplyGroups multiplies.
struct ExpertTile {
  int32_t expert = 0, first = 0, count = 0;  // count 0: an unused tile
};

/// Shared memory of SortChoices.
template <class Block>
struct SortShared {
  typename Block::template Cell<uint32_t> entries[kMostExperts];  // number, then the next free place
  typename Block::template Cell<uint32_t> warp_entries[Block::kWarps], warp_tiles[Block::kWarps];
};

/// Kernel: sorts the choices by expert and divides those of each expert into tiles. One block. Which of an expert's
/// entries comes first is left to chance.
struct SortChoices {
  static constexpr int kLanes = kMostExperts;  // a lane per expert
  template <class Block>
  using Shared = SortShared<Block>;
  const int32_t* choices = nullptr;  // [N, K]; -1: none
  int32_t* entries = nullptr;        // [N, K]: the entry of each choice; unwritten for choice -1
  int32_t* sources = nullptr;        // [N K]: the row of each entry
  ExpertTile* tiles = nullptr;       // [max_tiles]
  int64_t num_rows = 0, chosen = 0;  // N, K
  int64_t tile_rows = 0, max_tiles = 0;

  /// Returns how many tiles there are at most.
  static int64_t most_tiles(int64_t choices, int64_t experts, int64_t tile_rows) {
    return (choices < experts ? choices : experts) + choices / tile_rows;
  }
  int64_t num_blocks() const { return 1; }

  template <class Block>
  ROLL_KERNEL_TEXT void run(const Block& block, SortShared<Block>& shared, int64_t) const {
    const int lane = block.lane(), warp = lane / kWarp;
    shared.entries[lane] = 0;
    block.barrier();
    const auto each_choice = [&](const auto& f) {  // f(choice, row, expert)
      block.each(static_cast<int32_t>(num_rows), [&](int32_t row) {
        for (int64_t c = row * chosen; c < (row + 1) * chosen; ++c)
          if (choices[c] >= 0) f(c, row, choices[c]);
      });
    };
    each_choice([&](int64_t, int32_t, int32_t expert) { block.add(&shared.entries[expert], 1u); });
    const uint32_t own_entries = shared.entries[lane], rows = static_cast<uint32_t>(tile_rows),
                   own_tiles = (own_entries + rows - 1) / rows;
    uint32_t entries_before = own_entries, tiles_before = own_tiles;  // sums over the experts up to the lane's own
    for (int offset = 1; offset < kWarp; offset *= 2) {
      const uint32_t more_entries = block.shuffle_up(entries_before, offset),
                     more_tiles = block.shuffle_up(tiles_before, offset);
      if (lane % kWarp >= offset) {
        entries_before += more_entries;
        tiles_before += more_tiles;
      }
    }
    if (lane % kWarp == kWarp - 1) {
      shared.warp_entries[warp] = entries_before;
      shared.warp_tiles[warp] = tiles_before;
    }
    block.barrier();
    entries_before -= own_entries;
    tiles_before -= own_tiles;
    uint32_t num_tiles = 0;
    for (int other = 0; other < Block::kWarps; ++other) {
      if (other < warp) {
        entries_before += shared.warp_entries[other];
        tiles_before += shared.warp_tiles[other];
      }
      num_tiles += shared.warp_tiles[other];
    }
    shared.entries[lane] = entries_before;
    for (uint32_t t = 0; t < own_tiles; ++t) {
      const uint32_t left = own_entries - t * rows;
      tiles[tiles_before + t] = {lane, static_cast<int32_t>(entries_before + t * rows),
                                 static_cast<int32_t>(left < rows ? left : rows)};
    }
    for (int64_t t = num_tiles + lane; t < max_tiles; t += kLanes) tiles[t] = {};
    block.barrier();
    each_choice([&](int64_t c, int32_t row, int32_t expert) {
      const auto entry = static_cast<int32_t>(block.add(&shared.entries[expert], 1u));
      entries[c] = entry;
      sources[entry] = row;
    });
  }
};

}  // namespace roll
