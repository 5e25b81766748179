#include "preview/data_view.h"

#include <catch2/catch.hpp>

#include "error_of.h"
#include "preview/row_facts.h"

namespace roll {

using testing::error_of;

namespace {

Row viewed_row(const std::string& prompt, const Json& ground_truth, int line) {
  return parse_row({{"prompt", prompt}, {"ground_truth", ground_truth}}, fmt::format("rows.jsonl:{}", line), {});
}

std::unique_ptr<RewardFunction> reward_of(RewardType type) {
  RewardArgs args;
  args.type = std::move(type);
  args.timeout_s = 5;
  return make_reward(args, 0, "rewards.x.");
}

Golds golds_of(const std::vector<Row>& rows, RewardFunction& reward) {
  const RowStore store(rows);
  return score_golds(store, store.domains().at("").rows, reward, 10);
}

}  // namespace

TEST_CASE("a reward is given the gold of each row, and those that it does not score right are named", "[preview]") {
  const std::vector<Row> rows{viewed_row("1+1", "2", 1), viewed_row("half", "\\frac{1}{2}", 2), viewed_row("x", 7, 3)};
  const Golds golds = golds_of(rows, *reward_of(MathRuleArgs()));
  CHECK(golds.scored == 3);
  CHECK(golds.right == 3);
  const std::vector<Row> choices{viewed_row("A. Paris\nB. Rome", "B", 1), viewed_row("A. Paris\nB. Rome", "Rome", 2)};
  const Golds chosen = golds_of(choices, *reward_of(MultipleChoiceArgs()));
  CHECK(chosen.right == 1);
  REQUIRE(chosen.wrong_examples.size() == 1);
  CHECK(chosen.wrong_examples[0] == "rows.jsonl:2: \\boxed{Rome}: ground_truth is not a choice");
}

TEST_CASE("golds are asked of no more rows than wanted, over the whole file", "[preview]") {
  std::vector<Row> rows;
  for (int i = 0; i < 100; ++i) rows.push_back(viewed_row("?", i < 50 ? "a" : " ", i + 1));
  const Golds golds = golds_of(rows, *reward_of(ExactMatchArgs()));
  CHECK(golds.scored == 10);
  CHECK(golds.right == 5);
}

TEST_CASE("types that make no gold are not asked", "[preview]") {
  const std::vector<Row> rows{viewed_row("?", "1", 1)};
  CHECK(golds_of(rows, *reward_of(RegexArgs{.pattern = "x: (.*)"})).scored == 0);
  RewardArgs terms;
  terms.terms = {{.type = RewardType(MathRuleArgs())}, {.type = RewardType(RegexArgs{.pattern = "x"})}};
  CHECK(golds_of(rows, *make_reward(terms, 0, "")).scored == 0);
  terms.terms[1].type = RewardType(ExactMatchArgs());
  CHECK(golds_of(rows, *make_reward(terms, 0, "")).right == 1);
}

TEST_CASE("the user's own code is asked once, and its failure is the user's error", "[preview]") {
  const Row row = viewed_row("?", "1", 4);
  const auto answers = [](const std::string& script) {
    return reward_of(CommandArgs{.command = {"sh", "-c", script}});
  };
  CHECK_NOTHROW(test_reward_code(row, *answers("read line; echo '{\"reward\": 0}'; read end"), "rewards.x"));
  CHECK_THAT(error_of([&] { test_reward_code(row, *answers("read line; exit 3"), "rewards.x"); }),
             Catch::Contains("ended (exit status 3)"));
  RewardArgs slow;
  slow.type = CommandArgs{.command = {"sleep", "60"}};
  slow.timeout_s = 0.2;
  CHECK(error_of([&] { test_reward_code(row, *make_reward(slow, 0, ""), "rewards.x"); }) ==
        "rewards.x: returned no reward for rows.jsonl:4, tried with its ground truth as the response: no answer came "
        "within timeout_s; flush each answer, for example with print(..., flush=True) in Python");
}

TEST_CASE("columns, tags and repeated prompts are counted", "[preview]") {
  std::vector<Row> rows{viewed_row("a", "1", 1), viewed_row("a", "1", 2), viewed_row("a", "2", 3),
                        viewed_row("b", "", 4)};
  rows[0].tag = rows[1].tag = "t";
  const RowFacts facts = row_facts(rows);
  CHECK(facts.repeated == 2);
  CHECK(facts.contradicting == 1);
  CHECK(facts.first_contradiction == "rows.jsonl:3 has the prompt of rows.jsonl:1");
  CHECK(counts_text(facts.columns) == "prompt 4, ground_truth 3");
  CHECK(counts_text(facts.tags) == "t 2");
  CHECK(counts_text({}) == "none");
}

TEST_CASE("a domain's view says in characters what it cannot say in tokens, and warns with a remedy", "[preview]") {
  std::vector<Row> rows{viewed_row("äöü", "1", 1), viewed_row("ab", "2", 2)};
  for (Row& row : rows) row.domain = "math";
  DomainRules rules;
  rules["math"] = reward_of(MathRuleArgs());
  const ViewSettings lens{.max_golds = 10};
  const auto views = make_domain_views(rows, rules, lens);
  REQUIRE(views.size() == 1);
  CHECK(summary_line(views[0], lens) ==
        "math: 2 rows; prompts in characters: p50 2, p90 3, p99 3, max 3; 2 of 2 gold answers scored as right");
  CHECK(domain_warnings(views[0], lens).empty());
  DomainView faulty{.domain = "math", .num_rows = 9, .prompts = {.max = 80}, .dropped = 2, .long_golds = 1};
  faulty.golds = {.scored = 9, .right = 8, .wrong_examples = {"rows.jsonl:3: 4: scored 0"}};
  const auto warnings = domain_warnings(faulty, {.prompt_length = 64, .response_length = 3});
  REQUIRE(warnings.size() == 3);
  CHECK(warnings[0] ==
        "math: prompt_length = 64: 2 of 9 rows are longer and are dropped; a prompt_length of 80 keeps all");
  CHECK(warnings[1] ==
        "math: response_length = 3: the gold answer alone is longer in 1 of 9 rows; raise response_length");
  CHECK_THAT(warnings[2], Catch::StartsWith("math: 1 of 9 gold answers are not scored as right") &&
                              Catch::EndsWith("\n  rows.jsonl:3: 4: scored 0"));
}

}  // namespace roll
