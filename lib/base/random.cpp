#include "base/random.h"

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace roll {

namespace {
constexpr double kUnit = 0x1.0p-53;  // 53 bits times this are in [0, 1)
}

PlainName plain_name(const RandomName& name) {
  return {.seed = name.seed,
          .sequence = name.sequence,
          .purpose = static_cast<uint32_t>(name.purpose),
          .step = name.step,
          .position = name.position};
}

uint64_t random_bits(const RandomName& name) {
  return first_bits(named_words(plain_name(name)));
}

double random_uniform(const RandomName& name) {
  return static_cast<double>(random_bits(name)) * kUnit;
}

double random_normal(const RandomName& name) {
  const RandomWords words = named_words(plain_name(name)), others = {{words.word[2], words.word[3]}};
  const double radius = std::sqrt(-2.0 * std::log(1.0 - static_cast<double>(first_bits(words)) * kUnit));
  return radius * std::cos(2.0 * std::numbers::pi * (static_cast<double>(first_bits(others)) * kUnit));
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
