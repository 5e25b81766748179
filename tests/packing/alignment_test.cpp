#include "packing/alignment.h"

#include <catch2/catch.hpp>

namespace roll {

TEST_CASE("sequences are aligned to 2*CP*TP, to TP alone, or not at all", "[packing]") {
  CHECK(sequence_alignment(1, 1) == 1);
  CHECK(sequence_alignment(1, 4) == 4);
  CHECK(sequence_alignment(2, 1) == 4);
  CHECK(sequence_alignment(2, 3) == 12);
  CHECK(sequence_alignment(2, 3, 16) == 48);
  CHECK(sequence_alignment(1, 1, 16) == 16);
  CHECK(aligned_length(0, 4) == 0);
  CHECK(aligned_length(4, 4) == 4);
  CHECK(aligned_length(5, 4) == 8);
}

}  // namespace roll
