#include "reward/reward.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "checkpoint/temporary_folder.h"
#include "config/flag.h"
#include "config/key_reference.h"
#include "config/load.h"
#include "reward/queries.h"
#include "reward/reward_pool.h"

namespace roll {

namespace {

/// The keys of a domain, read as a file's are.
RewardArgs read(const std::string& yaml) {
  return load_yaml<RewardArgs>(yaml, "f").config;
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

std::string complaint_of(const std::string& yaml) {
  try {
    return complaint(read(yaml));
  } catch (const UserError& e) {
    return e.what();
  }
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("exact_match compares the whole text, the last line, or what follows the marker", "[reward]") {
  RewardArgs args = args_of(ExactMatchArgs());
  CHECK(score(args, "  42\n", "42 ") == 1);
  CHECK(score(args, "is 42", "42") == 0);
  args = args_of(ExactMatchArgs{.compare = AnswerPart::kLastLine});
  CHECK(score(args, "thinking\n 42 \n", "42") == 1);
  CHECK(score(args, "42\nno", "42") == 0);
  args = args_of(ExactMatchArgs{.compare = AnswerPart::kAfterMarker});
  CHECK(score(args, "#### 1\n#### 42", "42") == 1);
  CHECK(score(args, "42", "42") == 0);
  CHECK(score(args, "#### Yes", "yes") == 0);
  args = args_of(ExactMatchArgs{.compare = AnswerPart::kAfterMarker, .ignore_case = true});
  CHECK(score(args, "#### Yes", "yes") == 1);
}

TEST_CASE("regex compares its last match's group, or rewards a match", "[reward]") {
  RewardArgs args = args_of(RegexArgs{.pattern = "answer: *(\\w+)"});
  CHECK(score(args, "answer: 1 answer: 42", "42") == 1);
  CHECK(score(args, "answer: 42 answer: 1", "42") == 0);
  CHECK(score(args, "none", "42") == 0);
  args = args_of(RegexArgs{.pattern = "^<a>.*</a>$"});
  CHECK(score(args, "<a>\n</a>", "anything") == 1);
  CHECK(score(args, "<a>\n</a>!", "anything") == 0);
}

TEST_CASE("a regular expression that explodes is a time-out, not a hang", "[reward]") {
  RewardArgs args = args_of(RegexArgs{.pattern = "^(a+)+$"});
  const auto result = make_reward(args, 100, "")->score(query_of(std::string(5000, 'a') + "b", "x"));
  CHECK(result.reward == 0);
  CHECK(result.detail["error"] == "timeout");
}

TEST_CASE("a regular expression that is slow without backtracking obeys timeout_s", "[reward]") {
  RewardArgs args = args_of(RegexArgs{.pattern = "a[^b]*+b(?<=b)|a[^c]*+c(?<=c)"});
  args.timeout_s = 0.2;
  const std::string response(1'000'000, 'a');
  CHECK(make_reward(args, 100, "")->score(query_of(response, "x")).detail["error"] == "timeout");
  args = args_of(ExactMatchArgs());
  args.format_pattern = "a[^b]*+b(?<=b)|a[^c]*+c(?<=c)";
  args.timeout_s = 0.2;
  const auto result = make_reward(args, 100, "")->score(query_of(response, response));
  CHECK(result.reward == 0);
  CHECK(result.detail["error"] == "timeout");
}

TEST_CASE("a regular expression sees the whole of a long response", "[reward]") {
  RewardArgs args = args_of(RegexArgs{.pattern = "^(?:a|b|\\n)*=(\\d+)$"});
  std::string response;
  for (int i = 0; i < 100'000; ++i) response += "ab\n";
  CHECK(score(args, response + "=42", "42") == 1);
}

TEST_CASE("a response that is no UTF-8 is matched where it is text", "[reward]") {
  RewardArgs args = args_of(RegexArgs{.pattern = "=(\\d+)"});
  CHECK(score(args, "\xff\xc3=42\xe2\x82", "42") == 1);
  args = args_of(RegexArgs{.pattern = "x*"});
  CHECK(score(args, "\xff\xff", "") == 1);
}

TEST_CASE("format_pattern, hard rewards and the length penalty apply to every type", "[reward]") {
  RewardArgs args = args_of(MathRuleArgs());
  args.format_pattern = "^<think>.*</think>";
  CHECK(score(args, "<think>\n</think>\\boxed{4}", "4") == 1);
  CHECK(score(args, "\\boxed{4}", "4") == 0);
  args.format_pattern.reset();
  args.response_length_penalty_coef = 0.5;
  const auto result = make_reward(args, 100, "")->score(query_of("\\boxed{4}", "4", 40));
  CHECK(result.reward == Approx(0.8));
  CHECK(result.detail["length_penalty"] == 0.2);
  RewardArgs soft = args_of(CommandArgs{.command = {"sh", "-c", "while read x; do echo '{\"reward\": 0.75}'; done"}});

  CHECK(score(soft, "", "") == 0.75);
  soft.reward_type = RewardScale::kHard;
  CHECK(score(soft, "", "") == 1);
}

TEST_CASE("the score is the verdict, which penalties leave alone", "[reward]") {
  RewardArgs args = args_of(MathRuleArgs{});
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
  RewardArgs hard = args_of(CommandArgs{.command = {"sh", "-c", "while read x; do echo '{\"reward\": 0.75}'; done"}});
  CHECK(make_reward(hard, 100, "")->score(query_of("", "")).score == 0.75);
  hard.reward_type = RewardScale::kHard;
  CHECK(make_reward(hard, 100, "")->score(query_of("", "")).score == 1);
}

TEST_CASE("bad reward options name the key, the value and what to do", "[reward]") {
  CHECK_THAT(complaint_of("type: mathrule\npattern: x"),
             Catch::Contains("type = mathrule: must be one of math_rule, exact_match, regex, command") &&
                 Catch::Contains("did you mean 'math_rule'?") && !Catch::Contains("pattern"));
  CHECK_THAT(complaint(RewardArgs{}), Catch::Contains("rewards.x.type: missing"));
  CHECK_THAT(complaint_of("type: regex"), Catch::Contains("rewards.x.pattern: missing"));
  CHECK_THAT(complaint_of("type: regex\npattern: (unclosed"),
             Catch::Contains("pattern = (unclosed") && Catch::Contains("character 9"));
  CHECK_THAT(complaint_of("type: math_rule\ntimeout_s: 0"), Catch::Contains("timeout_s = 0: must be above 0"));
  CHECK_THAT(complaint_of("type: math_rule\nworld_size: 0"), Catch::Contains("world_size = 0: must be in 1..1024"));
  CHECK_THAT(complaint_of("type: math_rule\nresponse_length_penalty_coef: -1"),
             Catch::Contains("must be in 0..1000000"));
  RewardArgs args = args_of(MathRuleArgs());
  args.response_length_penalty_coef = 1;
  CHECK_THAT(complaint(args, 0), Catch::Contains("set response_length"));
  CHECK_THAT(complaint_of("type: command"), Catch::Contains("command: missing"));
}

TEST_CASE("ROLL's worker class names the type, which may be written as well but not contradict it", "[reward]") {
  const std::string math = "worker_cls: roll.pipeline.rlvr.rewards.math_rule_reward_worker.MathRuleRewardWorker\n";
  CHECK(enum_name(*read(math).type) == "math_rule");
  CHECK(complaint_of(math).empty());
  CHECK(complaint_of(math + "type: math_rule").empty());
  CHECK(complaint_of(math + "type: ~").empty());
  CHECK_THAT(complaint_of(math + "type: exact_match"),
             Catch::Contains("rewards.x.worker_cls = roll.pipeline") &&
                 Catch::Contains("means type math_rule, but type is exact_match; keep one of the two"));
  CHECK_THAT(complaint_of("worker_cls: a.b.SomethingElse"),
             Catch::Contains("worker_cls = a.b.SomethingElse: unknown reward"));
  CHECK(complaint_of("worker_cls: a.b.SomethingElse\ntype: math_rule").empty());
  CHECK_THAT(complaint_of("worker_cls: a.b."), Catch::Contains("worker_cls = a.b.: unknown reward"));
}

TEST_CASE("ROLL's reward workers have their types", "[reward]") {
  for (const auto& [worker, type] :
       {std::pair("general_ifeval_rule_reward_worker.GeneralRuleRewardWorker", "ifeval"),
        std::pair("crossthinkqa_rule_reward_worker.CrossThinkQARuleRewardWorker", "crossthinkqa"),
        std::pair("multiple_choice_boxed_rule_reward_worker.MultipleChoiceBoxedRuleRewardWorker", "multiple_choice"),
        std::pair("general_val_rule_reward_worker.GeneralValRuleRewardWorker", "general_val")})
    CHECK(enum_name(*read(fmt::format("worker_cls: roll.pipeline.rlvr.rewards.{}", worker)).type) == type);
}

TEST_CASE("a key of another type is refused, whichever names the type", "[reward]") {
  const std::string reason = "pattern = x: is a key of type regex, and the type here is math_rule; remove it";
  CHECK_THAT(complaint_of("type: math_rule\npattern: x"), Catch::Contains(reason));
  CHECK_THAT(complaint_of("pattern: x\nworker_cls: MathRuleRewardWorker"), Catch::Contains(reason));
  CHECK_THAT(
      complaint_of("type: command\ncommand: [cat]\nignore_case: true"),
      Catch::Contains("ignore_case = true: is a key of type exact_match and regex, and the type here is command"));
  CHECK_THAT(complaint_of("type: math_rule\npatern: x"), Catch::Contains("patern: unknown key"));
  CHECK(complaint_of("type: math_rule\npattern: ~\nignore_case: false").empty());
  CHECK_THAT(complaint_of("pattern: x\nmarker: y"), Catch::Contains("rewards.x.type: missing"));
}

TEST_CASE("a key that two types own reaches the chosen one, and is shown once", "[reward]") {
  CHECK(score(read("{type: exact_match, ignore_case: true}"), "Yes", "yes") == 1);
  CHECK(score(read("{type: regex, pattern: '(.*)', ignore_case: true}"), "Yes", "yes") == 1);
  const std::string table = key_table(shared_keys(key_entries(RewardArgs())), KeyFormat::kText, false);
  CHECK(count(table, "\nignore_case: false") == 1);
  CHECK_THAT(table, Catch::Contains("type exact_match, regex: ASCII letters") &&
                        Catch::Contains("[math_rule | exact_match | regex | command"));
  const std::string yaml = to_yaml(read("{type: regex, pattern: x, ignore_case: true}"));
  CHECK(count(yaml, "ignore_case: true\n") == 1);
  CHECK(count(yaml, "marker") == 0);
  CHECK(to_yaml(read(yaml)) == yaml);
}

TEST_CASE("flags of a reward are gathered, and read once its type is known", "[reward]") {
  Node given;
  set_flag(given, "ignore_case", flag_scalar("true"));
  set_flag(given, "pattern", flag_scalar("x"));
  set_flag(given, "pattern", flag_scalar("(a+)"));
  set_flag(given, "type", flag_scalar("regex"));
  RewardArgs args;
  read_flags(given, args);
  CHECK(score(args, "AA", "aa") == 1);
  set_flag(given, "type", flag_scalar("exact_match"));
  CHECK_THROWS_WITH(read_flags(given, args),
                    "--pattern = (a+): is a key of type regex, and the type here is "
                    "exact_match; remove it");
}

TEST_CASE("nothing is right without a ground truth", "[reward]") {
  for (const RewardArgs& args : {args_of(ExactMatchArgs()), args_of(RegexArgs{.pattern = "(x*)"})}) {
    const auto result = make_reward(args, 0, "")->score(query_of("", " "));
    CHECK(result.reward == 0);
    CHECK(result.detail["error"] == "the row has no ground_truth");
  }
  for (const RewardArgs& args : {args_of(ExactMatchArgs()), args_of(MathRuleArgs())}) {
    const auto rule = make_reward(args, 0, "");
    CHECK_NOTHROW(rule->check_row(Json{{"ground_truth", 4}}));
    for (const Json& row : {Json::object(), Json{{"ground_truth", " "}}, Json{{"ground_truth", nullptr}}})
      CHECK_THROWS_WITH(rule->check_row(row), Catch::Contains("ground_truth: missing"));
  }
}

TEST_CASE("failed rewards are counted by their kind", "[reward]") {
  RewardFaults faults;
  CHECK(faults.total() == 0);
  faults.add(timed_out().detail);
  faults.add(judged(1, Json{{"a", 1}}).detail);
  faults.add(failed_reward(RewardFailure::kCrash, "ended").detail);
  faults.add(failed_reward(RewardFailure::kUnavailable, "no answer").detail);
  CHECK(faults.total() == 3);
  CHECK(faults.errors() == 2);
  CHECK(faults.count(RewardFailure::kCrash) == 1);
  CHECK(faults.text() == "1 took longer than timeout_s, 2 failed (1 crash, 1 unavailable), the first: ended");
  faults = {};
  faults.add(Json{{"error", 3}});  // a program's own words, and of a line that names no kind
  faults.add(Json{{"error", "timeout"}});
  CHECK(faults.text() == "1 took longer than timeout_s, 1 failed (1 unjudged), the first: 3");
}

TEST_CASE("the pool gives results in the order of submission", "[reward]") {
  RewardArgs args = args_of(ExactMatchArgs());
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

TEST_CASE("what could not be judged is no verdict, or 0, or an error, as on_reward_error says", "[reward]") {
  RewardArgs args = args_of(ExactMatchArgs());
  const auto results = [&](RewardErrorPolicy policy) {
    args.on_reward_error = policy;
    RewardPool pool(args, 0, "rewards.x.");
    pool.submit(query_of("1", "1"));
    pool.submit(query_of("1", ""));
    return pool.collect();
  };
  CHECK(RewardArgs().on_reward_error == RewardErrorPolicy::kDrop);
  CHECK(results(RewardErrorPolicy::kDrop)[0].is_judged);
  CHECK_FALSE(results(RewardErrorPolicy::kDrop)[1].is_judged);
  CHECK(results(RewardErrorPolicy::kZero)[1].is_judged);
  CHECK(results(RewardErrorPolicy::kZero)[1].reward == 0);
  CHECK_THROWS_WITH(results(RewardErrorPolicy::kStop),
                    Catch::Contains("rewards.x.on_reward_error = stop") && Catch::Contains("no ground_truth"));
}

TEST_CASE("a penalty cannot make a reward of what could not be judged", "[reward]") {
  RewardArgs args = args_of(ExactMatchArgs());
  args.response_length_penalty_coef = 1;
  const auto result = make_reward(args, 10, "")->score(query_of("1", "", 5));
  CHECK(result.reward == 0);
  CHECK_FALSE(result.detail.contains("length_penalty"));
}

TEST_CASE("the pool rethrows a worker's error and can be used again", "[reward]") {
  const RewardArgs args =
      program("while read x; do case $x in *bad*) echo no; continue;; esac; echo '{\"reward\": 1}'; done");
  RewardPool pool(args, 0);
  pool.submit(query_of("good", ""));
  pool.submit(query_of("bad", ""));
  CHECK_THROWS_WITH(pool.collect(), Catch::Contains("rewards.command") && Catch::Contains("answered \"no\""));
  pool.submit(query_of("good", ""));
  CHECK(pool.collect().at(0).reward == 1);
}

TEST_CASE("the pool gives what is scored by now, each once, and forgets what is dropped", "[reward]") {
  // The second response is not scored before the file is there.
  const test::TemporaryFolder folder;
  const std::string gate = (folder.path() / "gate").string();
  RewardArgs args = program("while read x; do case $x in *slow*) while [ ! -e " + gate +
                            " ]; do sleep 0.01; done;; *bad*) echo no; continue;; esac; echo '{\"reward\": 1}'; done");
  args.timeout_s = 60;
  RewardPool pool(args, 0);
  const auto first = pool.submit(query_of("good", "")), slow = pool.submit(query_of("slow", "")),
             later = pool.submit(query_of("bad", ""));
  std::map<int64_t, RewardResult> done;
  while (done.empty()) done = pool.take_done();
  CHECK(done.size() == 1);
  CHECK(done.at(first).reward == 1);
  CHECK(pool.take_done().empty());
  pool.drop(slow);   // which is being scored
  pool.drop(later);  // which waits, and would fail
  std::ofstream(gate).close();
  const auto last = pool.submit(query_of("good", ""));
  CHECK(last > later);
  CHECK(pool.collect().size() == 1);
  pool.drop(pool.submit(query_of("good", "")));
  CHECK(pool.collect().empty());
}

}  // namespace roll
