// Draws a token from each row of logits for the slot that stands beside it, and moves the slots on, in four kernels
// whose blocks share a row where rows are few. What is drawn is RowSampler's token (ops/sample_row.h) for the same
// logits. Leaf: plain pointers to device memory and a stream. Without CUDA the function throws SystemError. Legend: N
// rows, S slots.
#pragma once

#include "base/philox.h"
#include "cuda/row_cut.h"
#include "cuda/sampling_math.h"

namespace roll {

/// A slot of the sampler, in the device's memory.
struct SlotState {
  RowSampling sampling;
  PlainName name;  // position: of the next token in its response
  int32_t last_token = 0;
  int32_t length = 0;       // where its last token stands
  int32_t num_touched = 0;  // of its TouchedTokens
  int32_t unused = 0;
};

struct RowDraw {
  int32_t slot = -1;        // -1: nothing is drawn
  int32_t is_decoding = 0;  // 1: the slot's last token was computed for this row, so its length grows
  int32_t row = 0;          // of the step that computed the logits
};

/// The largest logits of a part of a row: of tokens that nothing touches, and of the others as they came and as they
/// are drawn from.
struct alignas(16) PartTops {
  float untouched, raw_touched, touched, unused;
};

struct alignas(16) PartMass {
  uint64_t raw, all;  // of the logits as they came, and as they are drawn from
  int32_t first;      // the first token of the largest logit; INT32_MAX: it is not here
  uint32_t is_bad;    // a logit is no number
};

constexpr int kSampleBins = 2048, kMostCandidates = 4096;

/// What a row's blocks leave for those of the next kernel.
struct RowScratch {
  uint64_t candidates[kMostCandidates];  // id in the upper half, logit's bits in the lower
  uint64_t chunks[kMostChunks];          // masses
  PartMass masses[kMostParts];
  PartTops tops[kMostParts];
  uint32_t counts[kSampleBins];  // of tokens in bins
  uint32_t num_candidates, unused;
};

struct SampleRows {
  float* logits = nullptr;       // 16 bytes aligned; touched tokens' are changed
  int64_t stride = 0, rows = 0;  // from row to row, and how many there are
  int64_t shard_stride = 0;      // from a row's shard to the next one; strides are multiples of 4
  RowCut cut;
  const RowDraw* draws = nullptr;   // [N], no slot twice
  SlotState* slots = nullptr;       // [S]
  TouchedToken* touched = nullptr;  // [S, touched_per_slot]
  float* untouched = nullptr;       // [S, touched_per_slot], scratch
  int64_t touched_per_slot = 0;     // room for all that are, and one more for each token to come where they count
  RowScratch* scratch = nullptr;    // [N]
  DrawnToken* drawn = nullptr;      // [N]
  bool moves_slots = true;          // else MoveSlots will (cuda/move_slots.h)
};

namespace cuda {

void sample_rows(const SampleRows& rows, void* stream);

}  // namespace cuda

}  // namespace roll
