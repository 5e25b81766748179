// A router's choice for one token on the CPU, in float32.
#pragma once

#include <cstdint>

namespace roll {

/// Of logits [count] the `chosen` with the largest probabilities, the largest first, of equal ones that with the lower
/// number first, and these probabilities; `renormalises`: divided by their sum.
void choose_experts(const float* logits, int64_t count, int64_t chosen, bool renormalises, int32_t* experts,
                    float* weights);

}  // namespace roll
