#include "base/random.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>

namespace roll {

TEST_CASE("Philox4x32-10 gives the published known answers", "[base]") {
  // kat_vectors of the Random123 distribution (Salmon et al. 2011).
  const auto philox4x32 = [](const RandomWords& counter, std::array<uint32_t, 2> key) {
    return std::to_array(philox_words(counter, key[0], key[1]).word);
  };
  CHECK(philox4x32({{0, 0, 0, 0}}, {0, 0}) == std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox4x32({{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}}, {0xffffffff, 0xffffffff}) ==
        std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, {0xa4093822, 0x299f31d0}) ==
        std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("random numbers differ in every part of their name", "[base]") {
  const RandomName name{.seed = 7, .purpose = Purpose::kSample, .step = 1, .sequence = 2, .position = 3};
  const double base = random_uniform(name);
  RandomName other = name;
  SECTION("seed") {
    other.seed = uint64_t{1} << 40;
  }
  SECTION("purpose") {
    other.purpose = Purpose::kValidate;
  }
  SECTION("step") {
    other.step = 2;
  }
  SECTION("sequence low") {
    other.sequence = 3;
  }
  SECTION("sequence high") {
    other.sequence = 2 + (uint64_t{1} << 33);
  }
  SECTION("position") {
    other.position = 4;
  }
  CHECK(random_uniform(other) != base);
}

TEST_CASE("random_permutation holds every index once and depends on the seed", "[base]") {
  auto a = random_permutation(1000, {.seed = 1, .purpose = Purpose::kEpochShuffle});
  const auto b = random_permutation(1000, {.seed = 2, .purpose = Purpose::kEpochShuffle});
  CHECK(a != b);
  std::sort(a.begin(), a.end());
  for (int64_t i = 0; i < 1000; ++i) REQUIRE(a[i] == i);
}

TEST_CASE("random_normal has mean 0 and variance 1", "[base]") {
  double sum = 0, squares = 0;
  const int n = 100000;
  for (int i = 0; i < n; ++i) {
    const double x = random_normal({.purpose = Purpose::kInit, .position = static_cast<uint32_t>(i)});
    sum += x;
    squares += x * x;
  }
  CHECK(std::abs(sum / n) < 0.02);
  CHECK(std::abs(squares / n - 1) < 0.02);
}

}  // namespace roll
