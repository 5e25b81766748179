#include "base/nearest.h"

#include <catch2/catch.hpp>

namespace roll {

TEST_CASE("the nearest word is found through a typing error, and in capitals", "[base]") {
  const std::vector<std::string> words = {"gae", "grpo", "reinforce", "reinforce_plus_plus"};
  CHECK(nearest("GRPO", words) == "grpo");
  CHECK(nearest("grop", words) == "grpo");
  CHECK(nearest("Reinforce++", words) == "reinforce");
  CHECK(nearest("REINFORCE_PLUSPLUS", words) == "reinforce_plus_plus");
  CHECK(nearest("dance", words).empty());
}

TEST_CASE("of a short word most letters have to be right", "[base]") {
  CHECK(nearest("lr", {"l2"}).empty());
  CHECK(nearest("gea", {"gae"}) == "gae");
  CHECK(nearest("abc", {"cba"}).empty());
}

}  // namespace roll
