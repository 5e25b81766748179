#include <catch2/catch.hpp>

#include "text/tiny_tokenizer.h"
#include "text/tokenizer.h"

namespace roll {

TEST_CASE("a cached word is not taken for one that goes on with zero bytes", "[text]") {
  const Tokenizer tokenizer = Tokenizer::parse(make_byte_level_tokenizer({}).dump(), "tiny");
  const std::vector<int64_t> shorter = tokenizer.encode("!");
  CHECK(tokenizer.encode(std::string("!\0", 2)).size() == shorter.size() + 1);
  CHECK(tokenizer.encode("!") == shorter);
}

}  // namespace roll
