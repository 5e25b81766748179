#include <catch2/catch.hpp>
#include <sstream>

#include "data/pair_rows.h"
#include "data/row_source.h"
#include "data/row_store.h"

namespace roll {

TEST_CASE("bytes come back from memory, from disk and from the border", "[data]") {
  SpilledBytes bytes(10);
  const std::vector<std::string> all{"abc", "", std::string("\0x", 2), "defghi", "j", std::string(100, 'k'), ""};
  for (const std::string& one : all) bytes.add(one);
  REQUIRE(bytes.size() == 7);
  for (int64_t i = 6; i >= 0; --i) CHECK(bytes.at(i) == all[static_cast<size_t>(i)]);
}

TEST_CASE("rows of training come back as they were, with a fingerprint of their tokens in order", "[data]") {
  const std::vector<PairRow> pairs{{"a", "f:1", {1, 2}, {3}, {4, 5}}, {"b", "f:2", {6}, {7}, {8}}};
  StoredRows<PairRow> there, back;
  for (const PairRow& pair : pairs) there.add(pair, 7);
  back.add(pairs[1], 7), back.add(pairs[0], 8);
  const PairRow first = there.at(0);
  CHECK((first.id == "a" && first.origin == "f:1" && first.prompt_ids == pairs[0].prompt_ids &&
         first.chosen_ids == pairs[0].chosen_ids && first.rejected_ids == pairs[0].rejected_ids));
  CHECK(there.at({1, 1, 0}).size() == 3);
  CHECK(there.fingerprint() == hash_ids({1, 2, 3, 4, 5, 6, 7, 8}, fnv1a("")));
  CHECK(there.fingerprint() != back.fingerprint());
  CHECK_THAT(overlap_warning(there.prompts(), back.prompts()),
             Catch::Contains("1 of 2 validation rows are training rows too (f:2 is f:1)"));
}

TEST_CASE("lines are given with where they stand", "[data]") {
  std::istringstream in("{\"a\": 1}\n\n{\"a\": 2}\n");
  std::string seen;
  json_lines(in, "f")([&](const Json& row, const std::string& where) { seen += where + to_line(row) + " "; });
  CHECK(seen == "f:1{\"a\":1} f:3{\"a\":2} ");
}

}  // namespace roll
