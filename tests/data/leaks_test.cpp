#include "data/leaks.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "data/row_store.h"

namespace roll {

namespace {

using Catch::Contains;

Row chat(const std::vector<Json>& messages, const std::string& truth, int line,
         const std::string& file = "rows.jsonl") {
  return parse_row({{"messages", Json(messages)}, {"ground_truth", truth}}, fmt::format("{}:{}", file, line), {});
}

Json says(const std::string& role, const std::string& content) {
  return {{"role", role}, {"content", content}};
}

std::string roles_in(const std::vector<Row>& rows) {
  PromptWarnings warnings;
  for (const Row& row : rows) warnings.add(row);
  return warnings.role_warnings();
}

}  // namespace

TEST_CASE("rows that end with the assistant's answer are named by their lines", "[data]") {
  const std::vector<Row> rows{chat({says("user", "1+1?")}, "2", 1),
                              chat({says("user", "1+1?"), says("assistant", "It is 2.")}, "2", 2),
                              chat({says("user", "1+2?"), says("assistant", "Hm")}, "3", 3),
                              chat({says("assistant", "Ask."), says("user", "1+2?")}, "3", 4),
                              chat({says("user", "?"), says("assistant", "")}, "", 5)};
  const auto warnings = [](std::span<const Row> some, bool are_sampled = true) {
    PromptWarnings warned(kShownOrigins, are_sampled);
    for (const Row& row : some) warned.add(row);
    return warned;
  };
  const std::string text = warnings(rows).answer_warnings();
  CHECK_THAT(
      text,
      Contains("1 row with the assistant's answer as the last message, including the ground truth (rows.jsonl:2)"));
  CHECK_THAT(text, Contains("2 rows with an assistant message as the last (rows.jsonl:3, rows.jsonl:5)"));
  CHECK_THAT(warnings(rows, /*are_sampled=*/false).answer_warnings(), !Contains("rows.jsonl:5"));
  CHECK(warnings(std::span(rows).first(1)).answer_warnings().empty());
  CHECK(warnings(rows).all().size() == 1);
}

TEST_CASE("roles that no template knows are named with their lines", "[data]") {
  std::vector<Row> rows;
  for (int line = 1; line <= 8; ++line)
    rows.push_back(chat({says("human", "a"), says("gpt", "b"), says("human", "c")}, "1", line));
  const std::string text = roles_in(rows);
  CHECK_THAT(text, Contains("the roles gpt, human in 8 rows (rows.jsonl:1, rows.jsonl:2, rows.jsonl:3, rows.jsonl:4, "
                            "rows.jsonl:5 and 3 more)"));
  PromptWarnings all(8);
  for (const Row& row : rows) all.add(row);
  CHECK_THAT(all.role_warnings(), Contains("rows.jsonl:8)"));
  const std::vector<Row> known{
      chat({says("system", "s"), says("developer", "d"), says("user", "u"), says("assistant", "a"), says("tool", "t")},
           "1", 1)};
  CHECK(roles_in(known).empty());
}

TEST_CASE("validation rows that are trained on are named with both lines", "[data]") {
  const std::vector<Row> training{chat({says("system", "Be brief."), says("user", "1+1?")}, "2", 1),
                                  parse_row({{"prompt", " 7*8? "}}, "rows.jsonl:2", {})};
  const std::vector<Row> validation{chat({says("user", "1+1? ")}, "2", 1, "val.jsonl"),
                                    chat({says("user", "2+1?")}, "3", 2, "val.jsonl"),
                                    chat({says("user", "7*8?"), says("assistant", "56")}, "56", 3, "val.jsonl")};
  const std::string text = overlap_warning(RowStore(training).prompts(), RowStore(validation).prompts());
  CHECK_THAT(text, Contains("2 of 3 validation rows are training rows too (val.jsonl:1 is rows.jsonl:1, val.jsonl:3 is "
                            "rows.jsonl:2)"));
  CHECK(overlap_warning(RowStore(training).prompts(), RowStore(std::vector<Row>{validation[1]}).prompts()).empty());
}

}  // namespace roll
