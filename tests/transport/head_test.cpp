#include "transport/head.h"

#include <catch2/catch.hpp>

namespace roll {

TEST_CASE("another call has another fingerprint, and lengths count where ranks give as much", "[dist]") {
  const Head head = make_head(3, 8, Operation::kReduceSum, 6, "counts");
  for (const Head& other :
       {make_head(4, 8, Operation::kReduceSum, 6, "counts"), make_head(3, 9, Operation::kReduceSum, 6, "counts"),
        make_head(3, 8, Operation::kReduceMax, 6, "counts"), make_head(3, 8, Operation::kReduceSum, 7, "counts"),
        make_head(3, 8, Operation::kReduceSum, 6, "count")}) {
    CHECK(head.fingerprint() != other.fingerprint());
    CHECK(!head.matches(other, 8));
  }
  CHECK(head.fingerprint() == make_head(3, 8, Operation::kReduceSum, 6, "counts").fingerprint());
  for (const Operation operation : {Operation::kGatherBytes, Operation::kBytesToFirst, Operation::kExchange})
    CHECK(make_head(0, 1, operation, -1, "x").fingerprint() == make_head(0, 2, operation, -1, "x").fingerprint());
}

TEST_CASE("a head says what its rank does", "[dist]") {
  CHECK(make_head(3, 8, Operation::kReduceSum, 6, "counts").text() ==
        "all-reduce (sum) 'counts' of 8 bytes Float (collective 3 of its group)");
  CHECK(make_head(0, 5, Operation::kGatherBytes, -1, std::string(60, 'n')).text() ==
        "all-gather of bytes '" + std::string(46, 'n') + "' of 5 bytes (collective 0 of its group)");
}

}  // namespace roll
