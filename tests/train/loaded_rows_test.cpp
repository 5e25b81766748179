#include "train/loaded_rows.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "data/sft_rows.h"
#include "error_of.h"

namespace roll {

TEST_CASE("rows above the sequence length are dropped and counted, in file order", "[train]") {
  const auto file = std::filesystem::temp_directory_path() / fmt::format("roll_test_loaded_rows_{}.jsonl", ::getpid());
  const int64_t count = 2500;  // more than are read at once
  {
    std::ofstream out(file);
    for (int64_t i = 0; i < count; ++i) out << fmt::format("{{\"prompt\": \"p{}\", \"length\": {}}}\n", i, 1 + i % 3);
  }
  DataArgs data;
  data.file_name = {file.string()};
  data.preprocessing_num_workers = 2;
  const auto load = [&](int64_t max_length) {
    return load_rows<SftRow>(data, max_length, [](Row& row, const RowColumns&) {
      row.prompt = row.raw["prompt"];
      return SftRow{.id = row.prompt,
                    .origin = row.origin,
                    .ids = std::vector<int64_t>(row.raw["length"].get<size_t>(), 7),
                    .is_rewritten = row.prompt == "p3"};
    });
  };
  const auto loaded = load(2);
  CHECK(loaded.num_dropped == count / 3);
  CHECK(loaded.num_rewritten == 1);
  CHECK_THAT(loaded.texts().at(0),
             Catch::Contains("1 of 1667 rows: the chat template renders a turn alone differently"));
  REQUIRE(loaded.rows.size() == count - count / 3);
  for (const int64_t i : {int64_t{0}, int64_t{1}, loaded.rows.size() - 1}) {
    const SftRow row = loaded.rows.at(i);
    CHECK(row.id == fmt::format("p{}", i / 2 * 3 + i % 2));
    CHECK(row.ids.size() == static_cast<size_t>(1 + i % 2));
  }
  CHECK_THAT(testing::error_of([&] { load(0); }),
             Catch::Contains("sequence_length = 0: all 2500 rows are longer; raise it"));
  CHECK_THAT(overlap_warning(loaded.rows.prompts(), loaded.rows.prompts(), 1),
             Catch::Contains(fmt::format("{0} of {0} validation rows", loaded.rows.size())));
  std::filesystem::remove(file);
}

}  // namespace roll
