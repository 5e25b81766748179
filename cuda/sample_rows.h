// Draws a token from each row of logits on a GPU and updates the slots, with four kernels, for lib/decode. Several
// blocks share a row if there are few rows. The tokens equal those of RowSampler (ops/sample_row.h) for the same
// logits. Depends on no tensor library; takes device pointers. A slot is the place of one running sequence in the
// sampler's batch. A touched token is one whose logit a bias or penalty changes. Legend: N rows, S slots.
#pragma once

#include "base/philox.h"
#include "cuda/row_cut.h"
#include "cuda/sampling_math.h"

namespace roll {

/// State of a slot, in device memory.
struct SlotState {
  RowSampling sampling;
  PlainName name;           // key of the next draw's random number; name.position: index of the next response token
  int32_t last_token = 0;   // token drawn last; the next step computes its keys and values
  int32_t length = 0;       // position of last_token in the sequence: the number of tokens before it
  int32_t num_touched = 0;  // entries in use of the slot's row in SampleRows::touched
  int32_t unused = 0;
};

/// A draw: which slot draws from which row.
struct RowDraw {
  int32_t slot = -1;        // -1: nothing is drawn
  int32_t is_decoding = 0;  // 1: the row computed the slot's last token, so the slot's length grows by 1; 0: a prompt
  int32_t row = 0;          // row of the step (StepRow) whose logits are used; read by AddNorm, not by these kernels
};

/// Largest logits of a part (RowCut) of a row, over three sets of tokens; -infinity for an empty set.
struct alignas(16) PartTops {
  float untouched;    // tokens without bias or penalty
  float raw_touched;  // touched tokens, before bias and penalties
  float touched;      // touched tokens, after bias and penalties
  float unused;
};

/// Probability mass (probability_mass() of sampling_math.h) of a part of a row.
struct alignas(16) PartMass {
  uint64_t raw;     // before bias and penalties, relative to the row's largest raw logit
  uint64_t all;     // after bias and penalties, relative to the row's largest logit then
  int32_t first;    // smallest id of a token with the row's largest logit (after); INT32_MAX: not in this part
  uint32_t is_bad;  // 1: a logit is NaN or +infinity
};

/// Number of bins of a row's histogram of logits, by their distance from the largest one (Probabilities::logit_bin()).
constexpr int kSampleBins = 2048;
/// Most candidates that are listed, i.e. tokens that top_k, top_p and min_p may keep. If there are more, the whole row
/// is scanned.
constexpr int kMostCandidates = 4096;

/// Results for a row that one sampling kernel passes to the next; needs no initial value.
struct RowScratch {
  uint64_t candidates[kMostCandidates];  // token id << 32 | bits of the logit, in no order
  uint64_t chunks[kMostChunks];          // mass per chunk (RowCut), after bias and penalties
  PartMass masses[kMostParts];           // one per part
  PartTops tops[kMostParts];             // one per part
  uint32_t counts[kSampleBins];          // tokens per bin
  uint32_t num_candidates;               // candidates found; above kMostCandidates, the list is incomplete and not used
  uint32_t unused;
};

/// Arguments of the sampling kernels, which draw from row i for slot draws[i].slot, unless this is -1; drawn[i] then
/// stays unwritten. If a logit is NaN or +infinity, drawn[i].token is -1, and the slot's state changes in `length`
/// only.
struct SampleRows {
  float* logits = nullptr;           // 16-byte aligned; afterwards, touched tokens' logits include bias and penalties
  int64_t stride = 0;                // elements from row to row; a multiple of 4
  int64_t rows = 0;                  // N
  int64_t shard_stride = 0;          // elements from a row's shard (RowCut) to its next; a multiple of 4
  RowCut cut;                        // partition of each row
  const RowDraw* draws = nullptr;    // [N], no slot twice
  SlotState* slots = nullptr;        // [S]
  TouchedToken* touched = nullptr;   // [S, touched_per_slot]: each token of a slot once; may be null if no slot has any
  float* original_logits = nullptr;  // [S, touched_per_slot]: scratch, the logits of `touched` before the change
  int64_t touched_per_slot = 0;      // capacity; with penalties, each drawn token may add an entry
  RowScratch* scratch = nullptr;     // [N]
  DrawnToken* drawn = nullptr;       // [N]
  bool advances_slots = true;  // false: the slots stay unchanged; AdvanceSlots (advance_slots.h) updates them later
};

namespace cuda {

/// Launches the four kernels of sample_row_text.h on `stream`, a cudaStream_t of the thread's current device, and does
/// not wait. Throws std::runtime_error if a launch fails, SystemError in a program built without CUDA.
void sample_rows(const SampleRows& rows, void* stream);

}  // namespace cuda

}  // namespace roll
