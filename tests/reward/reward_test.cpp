#include "reward/reward.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "reward/reward_pool.h"

namespace roll {

namespace {

RewardArgs args_of(const std::string& type) {
  RewardArgs args;
  args.type = type;
  return args;
}

RewardQuery query_of(const std::string& response, const std::string& truth, int64_t tokens = 0) {
  RewardQuery query;
  query.response = response, query.ground_truth = truth, query.num_response_tokens = tokens;
  return query;
}

double score(const RewardArgs& args, const std::string& response, const std::string& truth) {
  return make_reward(args, 100, "rewards.x.")->score(query_of(response, truth)).reward;
}

std::string complaint(const RewardArgs& args, int64_t response_length = 100) {
  try {
    make_reward(args, response_length, "rewards.x.");
  } catch (const UserError& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("exact_match compares the whole text, the last line, or what follows the marker", "[reward]") {
  RewardArgs args = args_of("exact_match");
  CHECK(score(args, "  42\n", "42 ") == 1);
  CHECK(score(args, "is 42", "42") == 0);
  args.compare = AnswerPart::kLastLine;
  CHECK(score(args, "thinking\n 42 \n", "42") == 1);
  CHECK(score(args, "42\nno", "42") == 0);
  args.compare = AnswerPart::kAfterMarker;
  CHECK(score(args, "#### 1\n#### 42", "42") == 1);
  CHECK(score(args, "42", "42") == 0);
  CHECK(score(args, "#### Yes", "yes") == 0);
  args.ignore_case = true;
  CHECK(score(args, "#### Yes", "yes") == 1);
}

TEST_CASE("regex compares its last match's group, or rewards a match", "[reward]") {
  RewardArgs args = args_of("regex");
  args.pattern = "answer: *(\\w+)";
  CHECK(score(args, "answer: 1 answer: 42", "42") == 1);
  CHECK(score(args, "answer: 42 answer: 1", "42") == 0);
  CHECK(score(args, "none", "42") == 0);
  args.pattern = "^<a>.*</a>$";
  CHECK(score(args, "<a>\n</a>", "anything") == 1);
  CHECK(score(args, "<a>\n</a>!", "anything") == 0);
}

TEST_CASE("a regular expression that explodes is a time-out, not a hang", "[reward]") {
  RewardArgs args = args_of("regex");
  args.pattern = "^(a+)+$";
  const auto result = make_reward(args, 100, "")->score(query_of(std::string(5000, 'a') + "b", "x"));
  CHECK(result.reward == 0);
  CHECK(result.detail["error"] == "timeout");
}

TEST_CASE("a regular expression that is slow without backtracking obeys timeout_s", "[reward]") {
  RewardArgs args = args_of("regex");
  args.pattern = "a[^b]*+b(?<=b)|a[^c]*+c(?<=c)";
  args.timeout_s = 0.2;
  const std::string response(1'000'000, 'a');
  CHECK(make_reward(args, 100, "")->score(query_of(response, "x")).detail["error"] == "timeout");
  args = args_of("exact_match");
  args.format_pattern = "a[^b]*+b(?<=b)|a[^c]*+c(?<=c)";
  args.timeout_s = 0.2;
  const auto result = make_reward(args, 100, "")->score(query_of(response, response));
  CHECK(result.reward == 0);
  CHECK(result.detail["error"] == "timeout");
}

TEST_CASE("a regular expression sees the whole of a long response", "[reward]") {
  RewardArgs args = args_of("regex");
  args.pattern = "^(?:a|b|\\n)*=(\\d+)$";
  std::string response;
  for (int i = 0; i < 100'000; ++i) response += "ab\n";
  CHECK(score(args, response + "=42", "42") == 1);
}

TEST_CASE("a response that is no UTF-8 is matched where it is text", "[reward]") {
  RewardArgs args = args_of("regex");
  args.pattern = "=(\\d+)";
  CHECK(score(args, "\xff\xc3=42\xe2\x82", "42") == 1);
  args.pattern = "x*";
  CHECK(score(args, "\xff\xff", "") == 1);
}

TEST_CASE("format_pattern, hard rewards and the length penalty apply to every type", "[reward]") {
  RewardArgs args = args_of("math_rule");
  args.format_pattern = "^<think>.*</think>";
  CHECK(score(args, "<think>\n</think>\\boxed{4}", "4") == 1);
  CHECK(score(args, "\\boxed{4}", "4") == 0);
  args.format_pattern.reset();
  args.response_length_penalty_coef = 0.5;
  const auto result = make_reward(args, 100, "")->score(query_of("\\boxed{4}", "4", 40));
  CHECK(result.reward == Approx(0.8));
  CHECK(result.detail["length_penalty"] == 0.2);
  RewardArgs soft = args_of("command");
  soft.command = {"sh", "-c", "while read x; do echo '{\"reward\": 0.75}'; done"};
  CHECK(score(soft, "", "") == 0.75);
  soft.reward_type = RewardScale::kHard;
  CHECK(score(soft, "", "") == 1);
}

TEST_CASE("the score is the verdict, which penalties leave alone", "[reward]") {
  RewardArgs args = args_of("math_rule");
  args.format_pattern = "^<think>";
  const auto badly_formed = make_reward(args, 100, "")->score(query_of("\\boxed{4}", "4"));
  CHECK(badly_formed.score == 1);
  CHECK(badly_formed.reward == 0);
  args.format_pattern.reset();
  args.response_length_penalty_coef = 0.5;
  const auto long_one = make_reward(args, 100, "")->score(query_of("\\boxed{4}", "4", 40));
  CHECK(long_one.score == 1);
  CHECK(long_one.reward == Approx(0.8));
  CHECK(make_reward(args, 100, "")->score(query_of("\\boxed{5}", "4", 40)).score == 0);
  RewardArgs hard = args_of("command");
  hard.command = {"sh", "-c", "while read x; do echo '{\"reward\": 0.75}'; done"};
  CHECK(make_reward(hard, 100, "")->score(query_of("", "")).score == 0.75);
  hard.reward_type = RewardScale::kHard;
  CHECK(make_reward(hard, 100, "")->score(query_of("", "")).score == 1);
}

TEST_CASE("bad reward options name the key, the value and what to do", "[reward]") {
  RewardArgs args = args_of("mathrule");
  CHECK_THAT(complaint(args),
             Catch::Contains("rewards.x.type = mathrule") && Catch::Contains("did you mean 'math_rule'?"));
  CHECK_THAT(complaint(RewardArgs{}), Catch::Contains("rewards.x.type: missing"));
  args = {};
  args.worker_cls = "roll.pipeline.rlvr.rewards.math_rule_reward_worker.MathRuleRewardWorker";
  CHECK(complaint(args).empty());
  args.worker_cls = "a.b.SomethingElse";
  CHECK_THAT(complaint(args), Catch::Contains("worker_cls = a.b.SomethingElse"));
  args = args_of("regex");
  CHECK_THAT(complaint(args), Catch::Contains("rewards.x.pattern: missing"));
  args.pattern = "(unclosed";
  CHECK_THAT(complaint(args), Catch::Contains("pattern = (unclosed") && Catch::Contains("character 9"));
  args = args_of("exact_match");
  args = args_of("math_rule");
  args.timeout_s = 0;
  CHECK_THAT(complaint(args), Catch::Contains("timeout_s = 0"));
  args = args_of("math_rule");
  args.response_length_penalty_coef = 1;
  CHECK_THAT(complaint(args, 0), Catch::Contains("set response_length"));
  CHECK_THAT(complaint(args_of("command")), Catch::Contains("command: missing"));
}

TEST_CASE("a command that ends or babbles is the user's error, with its last words", "[reward]") {
  RewardArgs args = args_of("command");
  args.command = {"sh", "-c", "read x; echo out of cheese >&2; exit 3"};
  CHECK_THROWS_WITH(score(args, "", ""), Catch::Contains("exit status 3") && Catch::Contains("out of cheese"));
  args.command = {"sh", "-c", "read x; echo hello; sleep 9"};
  CHECK_THROWS_WITH(score(args, "", ""), Catch::Contains("answered hello"));
  args.command = {"no-such-program-here"};
  CHECK_THROWS_WITH(score(args, "", ""), Catch::Contains("no-such-program-here: cannot be started"));
}

TEST_CASE("a command that is too slow gives 0 for that response and is started again", "[reward]") {
  RewardArgs args = args_of("command");
  args.timeout_s = 0.5;
  args.command = {"sh", "-c", "while read x; do case $x in *slow*) sleep 60;; esac; echo '{\"reward\": 1}'; done"};
  const auto reward = make_reward(args, 0, "");
  const auto slow = reward->score(query_of("slow", ""));
  CHECK(slow.reward == 0);
  CHECK(slow.detail["error"] == "timeout");
  CHECK(reward->score(query_of("fast", "")).reward == 1);
}

TEST_CASE("the pool gives results in the order of submission", "[reward]") {
  RewardArgs args = args_of("exact_match");
  args.world_size = 4;
  RewardPool pool(args, 0);
  CHECK(pool.collect().empty());
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 500; ++i) pool.submit(query_of(std::to_string(i), std::to_string(i % 3 == 0 ? i : -1)));
    const auto results = pool.collect();
    REQUIRE(results.size() == 500);
    for (int i = 0; i < 500; ++i) {
      REQUIRE(results[i].reward == (i % 3 == 0));
      REQUIRE(results[i].detail["answer"] == std::to_string(i));
    }
  }
}

TEST_CASE("the pool rethrows a worker's error and can be used again", "[reward]") {
  RewardArgs args = args_of("command");
  args.command = {"sh", "-c", "while read x; do case $x in *bad*) exit 5;; esac; echo '{\"reward\": 1}'; done"};
  RewardPool pool(args, 0);
  pool.submit(query_of("good", ""));
  pool.submit(query_of("bad", ""));
  CHECK_THROWS_WITH(pool.collect(), Catch::Contains("rewards.command") && Catch::Contains("exit status 5"));
  pool.submit(query_of("good", ""));
  CHECK(pool.collect().at(0).reward == 1);
}

TEST_CASE("a pool refuses an impossible number of workers", "[reward]") {
  RewardArgs args = args_of("math_rule");
  args.world_size = 0;
  CHECK_THROWS_WITH(RewardPool(args, 0), Catch::Contains("rewards.world_size = 0"));
}

}  // namespace roll
