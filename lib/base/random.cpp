#include "base/random.h"

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace roll {

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  const RandomWords words = philox_words({{counter[0], counter[1], counter[2], counter[3]}}, key[0], key[1]);
  return std::to_array(words.word);
}

PlainName plain_name(const RandomName& name) {
  return {.seed = name.seed,
          .sequence = name.sequence,
          .purpose = static_cast<uint32_t>(name.purpose),
          .step = name.step,
          .position = name.position};
}

std::array<uint32_t, 4> random_words(const RandomName& name) {
  return std::to_array(named_words(plain_name(name)).word);
}

uint64_t random_bits(const RandomName& name) {
  return first_bits(named_words(plain_name(name)));
}

namespace {

double to_unit(uint32_t high, uint32_t low) {
  return static_cast<double>((uint64_t{high} << 21) | (low >> 11)) * 0x1.0p-53;
}

}  // namespace

double random_uniform(const RandomName& name) {
  return static_cast<double>(random_bits(name)) * 0x1.0p-53;
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
