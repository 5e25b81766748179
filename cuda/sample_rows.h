// Draws a token from each row of logits and updates the slots, with four kernels; several blocks divide a row if there
// are few rows. The tokens equal those of RowSampler (ops/sample_row.h) for the same logits. Depends on no tensor
// library; takes device pointers and a stream. SystemError: built without CUDA. Legend: N rows, S slots.
#pragma once

#include "base/philox.h"
#include "cuda/row_cut.h"
#include "cuda/sampling_math.h"

namespace roll {

/// State of a sampler slot, in device memory.
struct SlotState {
  RowSampling sampling;
  PlainName name;  // RNG key; position: index of the next response token
  int32_t last_token = 0;
  int32_t length = 0;       // position of last_token
  int32_t num_touched = 0;  // number of its TouchedTokens
  int32_t unused = 0;
};

/// A draw: which slot draws from which row.
struct RowDraw {
  int32_t slot = -1;        // -1: nothing is drawn
  int32_t is_decoding = 0;  // 1: the slot's last token was computed for this row, so its length grows
  int32_t row = 0;          // row of the step whose logits are used
};

/// Largest logits of a part of a row: tokens without bias or penalty; the other tokens, before and after applying it.
struct alignas(16) PartTops {
  float untouched, raw_touched, touched, unused;
};

/// Probability mass of a part of a row (probability_mass() units).
struct alignas(16) PartMass {
  uint64_t raw, all;  // before and after bias and penalties
  int32_t first;      // first token with the row's largest logit; INT32_MAX: not in this part
  uint32_t is_bad;    // 1: a logit is NaN or +infinity
};

constexpr int kSampleBins = 2048, kMostCandidates = 4096;

/// Results that a row's blocks pass to the next kernel.
struct RowScratch {
  uint64_t candidates[kMostCandidates];  // id << 32 | bits of the logit
  uint64_t chunks[kMostChunks];          // mass per chunk
  PartMass masses[kMostParts];
  PartTops tops[kMostParts];
  uint32_t counts[kSampleBins];  // tokens per bin
  uint32_t num_candidates, unused;
};

/// Arguments of the sampling kernels.
struct SampleRows {
  float* logits = nullptr;       // 16-byte aligned; bias and penalties are applied in place
  int64_t stride = 0, rows = 0;  // stride: elements from row to row
  int64_t shard_stride = 0;      // elements from shard to shard; strides are multiples of 4
  RowCut cut;
  const RowDraw* draws = nullptr;   // [N], no slot twice
  SlotState* slots = nullptr;       // [S]
  TouchedToken* touched = nullptr;  // [S, touched_per_slot]
  float* untouched = nullptr;       // [S, touched_per_slot], scratch
  int64_t touched_per_slot = 0;     // capacity; with penalties, each new token may need an entry
  RowScratch* scratch = nullptr;    // [N]
  DrawnToken* drawn = nullptr;      // [N]
  bool moves_slots = true;          // false: MoveSlots does it (cuda/move_slots.h)
};

namespace cuda {

/// Launches the four kernels of sample_row_text.h.
void sample_rows(const SampleRows& rows, void* stream);

}  // namespace cuda

}  // namespace roll
