// Counter-based random numbers: each is a pure function of its name, by Philox4x32-10 (Salmon et al. 2011, "Parallel
// random numbers: as easy as 1, 2, 3"). A draw does not depend on batch layout, rank count or order, and a resumed run
// needs no generator state.
#pragma once

#include <cstdint>
#include <vector>

#include "base/philox.h"

namespace roll {

/// Use of a random number; one value per use. Never renumber it: every run's reproducibility depends on it.
enum class Purpose : uint32_t {
  kSample = 1,
  kEpochShuffle = 2,
  kMiniBatchShuffle = 3,
  kInit = 4,
  kValidate = 5,
  kDomain = 6,
  kCheckLoss = 7,
  kRetry = 8,
  kJudge = 9,
  kPassOver = 10,
  kAdapter = 11,
  kDropout = 12,
  kEnvironment = 13,
  kLevel = 14
};

struct RandomName {
  uint64_t seed = 0;
  Purpose purpose = Purpose::kSample;
  uint32_t step = 0;
  uint64_t sequence = 0;  // low 48 bits
  uint32_t position = 0;
};

/// Returns the name in the form that kernels take.
PlainName plain_name(const RandomName& name);

/// Returns 53 random bits, the same ones as random_uniform().
uint64_t random_bits(const RandomName& name);

/// Returns a number uniform in [0, 1), with 53 random bits.
double random_uniform(const RandomName& name);

/// Returns a standard normal number (Box-Muller over the name's words).
double random_normal(const RandomName& name);

/// Returns a uniform permutation of 0..n-1 (Fisher-Yates). `name.position` is the draw's index and must be 0.
std::vector<int64_t> random_permutation(int64_t n, RandomName name);

}  // namespace roll
