// Measures the prefill and decoding speed of a sampler, on prompts of random tokens without common prefixes.
#pragma once

#include <cstdint>

#include "rollout/page_pool.h"
#include "rollout/sampler.h"
#include "rollout/step_model.h"

namespace roll {

struct BenchShape {
  int64_t batch = 1, prompt_tokens = 128, new_tokens = 128;  // new_tokens: at least 2
  uint32_t round = 0;                                        // selects the random prompts
};

struct BenchResult {
  int64_t prefill_tokens = 0;
  double prefill_s = 0;
  // Decoding is measured over the steps in which every sequence draws: from the last start to the first end.
  int64_t decode_steps = 0, decode_tokens = 0;
  double decode_s = 0;
  double decode_length = 0;   // mean number of tokens per sequence whose keys and values a step reads
  SamplerCounts counts = {};  // counts for decoding only
};

/// Runs a warm-up, then measures prefill and decoding separately. Ignores the response length and EOS ids of `params`.
/// Ends early if `should_stop` returns true. UserError: there is no step in which every sequence draws.
BenchResult bench_sampler(StepModel& model, PagePool& pages, const SamplingParams& params, const BenchShape& shape,
                          const std::function<bool()>& should_stop);

}  // namespace roll
