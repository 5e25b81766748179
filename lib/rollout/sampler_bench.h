// Measures the prefill and decoding speed of a sampler on random prompts without common prefixes, for
// `roll generate --bench` and lib/forecast.
#pragma once

#include <cstdint>

#include "rollout/page_pool.h"
#include "rollout/sampler.h"
#include "rollout/step_model.h"

namespace roll {

/// Size of the measured batch.
struct BenchShape {
  int64_t batch = 1;            // sequences
  int64_t prompt_tokens = 128;  // per sequence
  int64_t new_tokens = 128;     // response tokens per sequence; at least 2
  uint32_t round = 0;           // selects the random prompts; a repeated measurement needs another round
};

/// All numbers are for the whole batch. Decoding is measured over the steps in which every sequence draws.
struct BenchResult {
  int64_t prefill_tokens = 0;
  double prefill_s = 0;
  int64_t decode_steps = 0;
  int64_t decode_tokens = 0;  // tokens drawn in these steps
  double decode_s = 0;
  double decode_length = 0;   // mean over steps and sequences: tokens whose keys and values a step reads
  SamplerCounts counts = {};  // for the whole decoding run, without prefill and warm-up
};

/// Runs a warm-up, then measures prefill and decoding in separate runs. The response length and EOS ids of `params` are
/// ignored. `should_stop`: called before every step; once it returns true, the function returns early with what was
/// measured so far. Throws UserError if there is no step in which every
/// sequence draws.
BenchResult bench_sampler(StepModel& model, PagePool& pages, const SamplingParams& params, const BenchShape& shape,
                          const std::function<bool()>& should_stop);

}  // namespace roll
