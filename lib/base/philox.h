// The random number generator Philox4x32-10 (Salmon et al. 2011), for the CPU and CUDA kernels. named_words() turns the
// name of a random number (base/random.h) into Philox's counter and key.
#pragma once

#include "base/host_device.h"

namespace roll {

/// Four 32-bit words: a counter of Philox, or its output.
struct RandomWords {
  uint32_t word[4];
};

/// Returns the output of Philox4x32-10 for a counter and the two words of the key.
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

/// A RandomName (base/random.h) with plain integers, for kernels.
struct PlainName {
  uint64_t seed = 0, sequence = 0;
  uint32_t purpose = 0, step = 0, position = 0;
  uint32_t unused = 0;  // padding
};

/// Returns the four random words of a name: counter {position, low half of the sequence, purpose << 16 | bits 32..47 of
/// the sequence, step}, key {low half of the seed, high half}.
ROLL_HOST_DEVICE RandomWords named_words(const PlainName& name) {
  const uint32_t purpose_and_sequence_high =
      (name.purpose << 16) | (static_cast<uint32_t>(name.sequence >> 32) & 0xFFFF);
  return philox_words({{name.position, static_cast<uint32_t>(name.sequence), purpose_and_sequence_high, name.step}},
                      static_cast<uint32_t>(name.seed), static_cast<uint32_t>(name.seed >> 32));
}

/// Returns the first 53 of the 128 bits: word[0], then the upper 21 bits of word[1].
ROLL_HOST_DEVICE uint64_t first_bits(const RandomWords& words) {
  return (uint64_t{words.word[0]} << 21) | (words.word[1] >> 11);
}

}  // namespace roll
