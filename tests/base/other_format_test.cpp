#include "base/other_format.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/json.h"
#include "error_of.h"

namespace roll {

using Catch::Contains;
using testing::error_of;

TEST_CASE("files that are no JSON lines are recognised by how they begin", "[base]") {
  const auto refused = [](std::string_view text) { return error_of([&] { refuse_other_format(text, "my rows"); }); };
  CHECK_THAT(refused("PAR1\x15\x04"),
             Contains("my rows: is a Parquet file, but JSON lines are needed, one object per line; "
                      "python3 -c \"import sys, pandas; pandas.read_parquet(") &&
                 Contains("'my rows'"));
  CHECK_THAT(refused("\x1f\x8b\x08"), Contains("is compressed by gzip") && Contains("; gunzip -k 'my rows'"));
  CHECK_THAT(refused("id,prompt,ground_truth"), Contains("is a table, as CSV") && Contains("pandas.read_csv("));
  CHECK_THAT(refused("id\tprompt"), Contains("as CSV"));
  CHECK_THAT(refused("  [{\"id\": 1},"), Contains("is a JSON array") && Contains("jq -c '.[]' 'my rows' > rows.jsonl"));
  CHECK_THAT(refused("{"), Contains("is JSON over several lines"));
  CHECK_THAT(refused("version https://git-lfs.github.com/spec/v1"), Contains("is a pointer of Git LFS"));
  CHECK_THAT(refused("<!DOCTYPE html>"), Contains("HTML"));
  for (const char* rows : {"{\"id\": 1}", " {\"id\": 1, \"a\": [1,2]}", "", "hello", "{'id': 1, 'a': 2}"})
    CHECK(refused(rows) == "no error");
}

TEST_CASE("every reader of JSON lines recognises them, by the first line that is not blank", "[base]") {
  const auto error_in = [](const std::string& text) {
    std::istringstream in(text);
    return error_of([&] { for_each_json_line(in, "f", [](int64_t, const Json&) {}); });
  };
  CHECK_THAT(error_in("\n[\n{}\n]\n"), Contains("f: is a JSON array"));
  CHECK_THAT(error_in("{}\n[1]\n"), Contains("f:2: array where a JSON object is needed"));
  CHECK(error_in("{}\n{}\n") == "no error");
}

}  // namespace roll
