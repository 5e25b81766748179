// How fast a sampler computes prompts and goes on from them, on prompts of random tokens that nothing else begins with.
#pragma once

#include <cstdint>

#include "rollout/page_pool.h"
#include "rollout/sampler.h"
#include "rollout/step_model.h"

namespace roll {

struct BenchShape {
  int64_t batch = 1, prompt_tokens = 128, new_tokens = 128;  // new_tokens: at least 2
  uint32_t round = 0;                                        // names the prompts
};

struct BenchResult {
  int64_t prefill_tokens = 0;
  double prefill_s = 0;
  // Measured over the steps in which every sequence of the batch draws: after the last has started, until the first
  // ends.
  int64_t decode_steps = 0, decode_tokens = 0;
  double decode_s = 0;
  double decode_length = 0;   // tokens of a sequence whose keys and values a step reads, on average
  SamplerCounts counts = {};  // of going on
};

/// A warm-up, then prefill and decoding, each measured alone. All of `params` but length and end tokens counts. Ends
/// early when `should_stop` says so. UserError: no step in which every sequence draws.
BenchResult bench_sampler(StepModel& model, PagePool& pages, const SamplingParams& params, const BenchShape& shape,
                          const std::function<bool()>& should_stop);

}  // namespace roll
