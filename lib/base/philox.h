// Philox4x32-10 and the counters of random numbers (base/random.h), for host and device.
#pragma once

#include "base/host_device.h"

namespace roll {

struct RandomWords {
  uint32_t word[4];
};

ROLL_HOST_DEVICE RandomWords philox_words(RandomWords counter, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * counter.word[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57} * counter.word[2];
    counter = {{static_cast<uint32_t>(p1 >> 32) ^ counter.word[1] ^ key0, static_cast<uint32_t>(p1),
                static_cast<uint32_t>(p0 >> 32) ^ counter.word[3] ^ key1, static_cast<uint32_t>(p0)}};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return counter;
}

/// A RandomName with plain integers, for kernels.
struct PlainName {
  uint64_t seed = 0, sequence = 0;
  uint32_t purpose = 0, step = 0, position = 0, unused = 0;
};

ROLL_HOST_DEVICE RandomWords named_words(const PlainName& name) {
  const uint32_t purpose_and_sequence_high =
      (name.purpose << 16) | (static_cast<uint32_t>(name.sequence >> 32) & 0xFFFF);
  return philox_words({{name.position, static_cast<uint32_t>(name.sequence), purpose_and_sequence_high, name.step}},
                      static_cast<uint32_t>(name.seed), static_cast<uint32_t>(name.seed >> 32));
}

/// Returns the first 53 bits of the words.
ROLL_HOST_DEVICE uint64_t first_bits(const RandomWords& words) {
  return (uint64_t{words.word[0]} << 21) | (words.word[1] >> 11);
}

}  // namespace roll
