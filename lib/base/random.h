// Counter-based random numbers: each is a pure function of its name (RandomName), by Philox4x32-10 (Salmon et al. 2011,
// "Parallel random numbers: as easy as 1, 2, 3"). A draw does not depend on batch layout, rank count or order, and a
// resumed run needs no generator state. Equal names give equal numbers, so callers must not use a name twice.
#pragma once

#include <cstdint>
#include <vector>

#include "base/philox.h"

namespace roll {

/// The use of a random number, so that different uses never share a name. The values must never change: every run's
/// reproducibility depends on them.
enum class Purpose : uint32_t {
  kSample = 1,            // response tokens, except in validations and by judge models
  kEpochShuffle = 2,      // order of the rows in an epoch
  kMiniBatchShuffle = 3,  // order of the sequences in a step's updates
  kInit = 4,              // new weights
  kValidate = 5,          // response tokens in validations
  kDomain = 6,            // not used any more; the number stays reserved
  kCheckLoss = 7,         // the made-up step of `roll check-loss`
  kRetry = 8,             // seeds of repeated draws, and waits before a request is repeated
  kJudge = 9,             // response tokens of a judge model
  kPassOver = 10,         // rows that an epoch skips because of their pass rates
  kAdapter = 11,          // new LoRA weights
  kDropout = 12,          // elements that dropout sets to 0
  kEnvironment = 13,      // levels (initial states) and events of the built-in environments
  kLevel = 14             // seeds of the environments' levels
};

/// Name of a random number. Each use decides what its fields count; these are the usual meanings.
struct RandomName {
  uint64_t seed = 0;  // the run's
  Purpose purpose = Purpose::kSample;
  uint32_t step = 0;      // training step, or epoch
  uint64_t sequence = 0;  // id of a sequence; only the low 48 bits count
  uint32_t position = 0;  // index within the sequence
};

/// Returns the name in the form that kernels take.
PlainName plain_name(const RandomName& name);

/// Returns 53 random bits, the same ones as random_uniform().
uint64_t random_bits(const RandomName& name);

/// Returns a number uniform in [0, 1), with 53 random bits.
double random_uniform(const RandomName& name);

/// Returns a standard normal number (Box-Muller from the name's 128 random bits).
double random_normal(const RandomName& name);

/// Returns a uniform permutation of 0..n-1 (Fisher-Yates). It uses the names with positions 1 to n-1; name.position is
/// ignored.
std::vector<int64_t> random_permutation(int64_t n, RandomName name);

}  // namespace roll
