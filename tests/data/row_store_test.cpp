#include "data/row_store.h"

#include <catch2/catch.hpp>

namespace roll {

namespace {

std::vector<Row> many_rows() {
  std::vector<Row> rows;
  for (int64_t i = 0; i < 300; ++i) {
    Json line{{"ground_truth", std::to_string(i)},
              {"difficulty", 0.1 * static_cast<double>(i)},
              {"tag", "t"},
              {"more", {1, 2.5, nullptr}}};
    if (i % 2 == 0)
      line["prompt"] = std::string(static_cast<size_t>(i), 'x');
    else
      line["messages"] = Json::array({{{"role", "user"}, {"content", "\u00e9"}}});
    rows.push_back(parse_row(line, fmt::format("f.jsonl:{}", i + 1), {}));
    rows.back().domain = i % 3 == 0 ? "a" : "b";
    rows.back().prompt_ids.assign(static_cast<size_t>(i % 7), i);
  }
  return rows;
}

void check_equal(const Row& row, const Row& stored) {
  CHECK(stored.id == row.id);
  CHECK(stored.origin == row.origin);
  CHECK(stored.source == row.source);
  CHECK(stored.difficulty == row.difficulty);
  CHECK(stored.tag == row.tag);
  CHECK(stored.domain == row.domain);
  CHECK(stored.ground_truth == row.ground_truth);
  CHECK(stored.messages == row.messages);
  CHECK(stored.prompt == row.prompt);
  CHECK(stored.raw == row.raw);
  CHECK(stored.prompt_ids == row.prompt_ids);
}

}  // namespace

TEST_CASE("rows come back as they were, from memory and from disk", "[data]") {
  const std::vector<Row> rows = many_rows();
  const int64_t in_memory = GENERATE(0, 5000, 1 << 30);
  RowStore filled(in_memory);
  for (const Row& row : rows) filled.add(row);
  const RowStore store(std::move(filled));
  REQUIRE(store.size() == 300);
  for (int64_t i = 299; i >= 0; --i) check_equal(rows[static_cast<size_t>(i)], store.at(i));
}

TEST_CASE("domains know their rows, and a fingerprint of ids and tokens in their order", "[data]") {
  std::vector<Row> rows = many_rows();
  const auto print = [&](const char* domain) { return RowStore(rows).domains().at(domain).fingerprint; };
  CHECK(RowStore(rows).domains().at("a").rows.size() == 100);
  CHECK(RowStore(rows).domains().at("b").rows[1] == 2);
  const uint64_t a = print("a"), b = print("b");
  rows[3].prompt_ids[0] = 7;
  CHECK(print("a") != a);
  CHECK(print("b") == b);
  rows[1].id = "other";
  CHECK(print("b") != b);
}

}  // namespace roll
