#include "base/random.h"

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace roll {

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * counter[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(p1),
               static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(p0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

std::array<uint32_t, 4> random_words(const RandomName& name) {
  const uint32_t purpose_and_sequence_high =
      (static_cast<uint32_t>(name.purpose) << 16) | (static_cast<uint32_t>(name.sequence >> 32) & 0xFFFF);
  return philox4x32({name.position, static_cast<uint32_t>(name.sequence), purpose_and_sequence_high, name.step},
                    {static_cast<uint32_t>(name.seed), static_cast<uint32_t>(name.seed >> 32)});
}

namespace {

double to_unit(uint32_t high, uint32_t low) {
  return static_cast<double>((uint64_t{high} << 21) | (low >> 11)) * 0x1.0p-53;
}

}  // namespace

double random_uniform(const RandomName& name) {
  const auto words = random_words(name);
  return to_unit(words[0], words[1]);
}

double random_normal(const RandomName& name) {
  const auto words = random_words(name);
  const double radius = std::sqrt(-2.0 * std::log(1.0 - to_unit(words[0], words[1])));
  return radius * std::cos(2.0 * std::numbers::pi * to_unit(words[2], words[3]));
}

std::vector<int64_t> random_permutation(int64_t n, RandomName name) {
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  for (int64_t i = n - 1; i > 0; --i) {
    name.position = static_cast<uint32_t>(i);
    const auto j = static_cast<int64_t>(random_uniform(name) * static_cast<double>(i + 1));
    std::swap(order[i], order[j]);
  }
  return order;
}

}  // namespace roll
