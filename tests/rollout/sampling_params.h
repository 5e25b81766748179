// How tests sample from tiny models: from all tokens, to the end token 0 or 20 tokens.
#pragma once

#include "rollout/sampler.h"

namespace roll::test {

inline SamplingParams sampling_params(double temperature = 1) {
  SamplingParams params;
  params.generating.temperature = temperature;
  params.generating.top_p = 1;
  params.generating.top_k = 0;
  params.generating.max_new_tokens = 20;
  params.eos_ids = {0};
  return params;
}

}  // namespace roll::test
