#include "reward/command.h"

#include <catch2/catch.hpp>
#include <random>
#include <sstream>

#include "base/error.h"
#include "reward/queries.h"
#include "reward/reply.h"
#include "reward/reward_pool.h"
#include "reward/shared.h"

namespace roll {

namespace {

double answer(const RewardArgs& args) {
  return make_reward(args, 100, "rewards.x.")->score(query_of("", "1")).reward;
}

}  // namespace

TEST_CASE("a command that never answers, or babbles, is the user's error, with its last words", "[reward]") {
  CHECK_THROWS_WITH(answer(program("read x; echo out of cheese >&2; exit 3")),
                    Catch::Contains("exit status 3") && Catch::Contains("out of cheese"));
  CHECK_THROWS_WITH(answer(program("read x; echo hello; sleep 9")), Catch::Contains("answered \"hello\""));
  CHECK_THROWS_WITH(answer(program("read x; echo '{\"reward\": true}'; sleep 9")), Catch::Contains("answered"));
  const RewardArgs args = args_of(CommandArgs{.command = {"no-such-program-here"}});
  CHECK_NOTHROW(make_reward(args, 0, ""));  // a configuration may be checked where its program is not
  CHECK_THROWS_WITH(RewardPool(args, 0),
                    Catch::Contains("rewards.command = no-such-program-here: cannot be started (No "
                                    "such file or directory); give a program that is there"));
}

TEST_CASE("a command's stray line is never the next answer", "[reward]") {
  const std::string answers = "while read x; do echo '{\"reward\": 1}'; done";
  CHECK_THROWS_WITH(answer(program("echo '{\"reward\": -1}'; " + answers)),
                    Catch::Contains("printed \"{\\\"reward\\\": -1}\" without being asked"));
  const auto after = make_reward(program("read x; echo '{\"reward\": 1}'; sleep 0.1; echo noise; " + answers), 0, "c.");
  CHECK(after->score(query_of("", "")).reward == 1);
  CHECK_THROWS_WITH(after->score(query_of("", "")),
                    Catch::Contains("c.command = sh -c") && Catch::Contains("printed \"noise\" without being asked"));
}

TEST_CASE("a command's answer holds its question's id, or none", "[reward]") {
  const auto right =
      make_reward(args_of(CommandArgs{.command = {"python3", "-uc",
                                                  "import sys, json\n"
                                                  "for line in sys.stdin:\n"
                                                  "  print(json.dumps({'id': json.loads(line)['id'], 'reward': 2}))"}}),
                  0, "");
  for (int i = 0; i < 3; ++i) CHECK(right->score(query_of("", "")).reward == 2);
  const auto late = make_reward(program("while read x; do echo '{\"reward\": 1, \"id\": 1}'; done"), 0, "");
  CHECK(late->score(query_of("", "")).reward == 1);
  CHECK_THROWS_WITH(late->score(query_of("", "")), Catch::Contains("the question's id is 2"));
}

TEST_CASE("a command that leaves flushing to its library answers line by line", "[reward]") {
  RewardArgs args = args_of(CommandArgs{.command = {"sed", "s/.*/{\"reward\": 1}/"}});
  args.timeout_s = 30;
  const auto reward = make_reward(args, 0, "");
  for (int i = 0; i < 2; ++i) CHECK(reward->score(query_of("", "")).reward == 1);
  args =
      args_of(CommandArgs{.command = {"python3", "-c", "import sys\nfor line in sys.stdin: print('{\"reward\": 2}')"}});
  args.timeout_s = 30;
  CHECK(make_reward(args, 0, "")->score(query_of("", "")).reward == 2);
}

TEST_CASE("one worker's answer is enough: another one's first failure is that answer's", "[reward]") {
  const auto shared = std::make_shared<SharedByWorkers>();
  RewardArgs args = program("while read x; do case $x in *bad*) exit 5;; esac; echo '{\"reward\": 1}'; done");
  const auto first = make_reward(args, 0, "", shared), second = make_reward(args, 0, "", shared);
  CHECK(first->score(query_of("good", "")).reward == 1);
  CHECK(second->score(query_of("bad", "")).detail["error"] == "ended (exit status 5) instead of answering");
  CHECK_THROWS_WITH(make_reward(args, 0, "")->score(query_of("bad", "")), Catch::Contains("exit status 5"));
}

TEST_CASE("the first time-out of a command that never answered says what that usually is", "[reward]") {
  std::ostringstream out, err;
  Log log(out, err, {});
  const auto said_of = [&](const std::string& script, double timeout_s) {
    err.str("");
    RewardArgs args = program(script);
    args.timeout_s = timeout_s;
    RewardPool pool(args, 0, "rewards.x.", 1, &log);
    for (int i = 0; i < 2; ++i) pool.submit(query_of("", "")), pool.collect();
    return err.str();
  };
  const std::string said = said_of("sleep 60", 0.3);
  CHECK_THAT(said, Catch::Contains("rewards.x.command = sh -c") &&
                       Catch::Contains("nothing came within timeout_s (0.3 s)") && Catch::Contains("flush=True"));
  CHECK(said.find("nothing came") == said.rfind("nothing came"));
  CHECK_THAT(said_of("read x; printf '{'; sleep 60", 3), Catch::Contains("no whole line came, only \"{\""));
  CHECK(said_of("read x; echo '{\"reward\": 1}'; sleep 60", 3).empty());
}

TEST_CASE("any line is an answer, a bad answer or none", "[reward]") {
  const auto kind = [](std::string_view line) { return parse_reply(line, 7).kind; };
  CHECK(parse_reply(R"( {"reward": 0.5, "id": 7, "detail": {"a": 1}})", 7).result.reward == 0.5);
  CHECK(parse_reply(R"({"reward": 1, "detail": "x"})", 7).result.detail == Json{{"detail", "x"}});
  for (const char* line : {"", " ", "1", "hello", "[1]", "null", "\xff\xfe", R"({"reward": 1, "id": 6})",
                           R"({"reward": 1, "id": "7"})", R"({"id": null})"})
    CHECK(kind(line) == Reply::Kind::kNoAnswer);
  for (const char* line : {"{", "{}", "{\"reward\": NaN}", R"({"reward": 1e999})", R"({"reward": null})",
                           R"({"reward": "1"})", R"({"reward": 1} x)", "{\xff}"})
    CHECK(kind(line) == Reply::Kind::kBadAnswer);
  CHECK(parse_reply(std::string(300, 'x'), 7).reason.size() < 320);
}

TEST_CASE("any bytes of a program are read without harm", "[reward]") {
  const std::string_view alphabet = R"({}[]",:0123456789.eE+-truefalsnidwdI \u)"
                                    "\xff\x00\xc3";
  std::mt19937_64 random(3);
  const std::string whole = R"({"id": 7, "reward": 0.5, "detail": {"a": [1, "\u00e4"]}})";
  int64_t num_answers = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::string line = whole;
    for (uint64_t changes = random() % 4; changes > 0; --changes)
      line[random() % line.size()] = alphabet[random() % alphabet.size()];
    if (random() % 8 == 0) line.resize(random() % line.size());
    const Reply reply = parse_reply(line, 7);
    num_answers += reply.kind == Reply::Kind::kAnswer;
    if ((reply.kind == Reply::Kind::kAnswer) != reply.reason.empty()) FAIL(line);
    if (!reply.result.detail.is_object()) FAIL(line);
  }
  CHECK(num_answers > 10'000);
}

TEST_CASE("a reward is finite and within bounds, or an error of its answer", "[reward]") {
  const auto numbers = make_reward(program("read x; echo '{\"reward\": 1}'; for n in 1e308 -1e308 1000001 NaN 1000000; "
                                           "do read x; echo \"{\\\"reward\\\": $n}\"; done"),
                                   0, "");
  numbers->score(query_of("", ""));
  for (const char* shown : {"1e+308", "-1e+308", "1000001"}) {
    const RewardResult result = numbers->score(query_of("", ""));
    CHECK(result.reward == 0);
    CHECK(result.score == 0);
    CHECK_THAT(result.detail["error"].get<std::string>(),
               Catch::Contains(fmt::format("reward = {}: must be finite", shown)));
  }
  CHECK_THAT(numbers->score(query_of("", "")).detail["error"].get<std::string>(), Catch::Contains("NaN"));
  RewardArgs penalised = args_of(ExactMatchArgs());
  penalised.response_length_penalty_coef = 1e6;
  const auto penalty = make_reward(penalised, 1, "")->score(query_of("a", "a", 2));
  CHECK(penalty.reward == 0);
  CHECK(penalty.detail.contains("error"));
}

TEST_CASE("a command that is too slow, or ends, costs that answer and is started again", "[reward]") {
  RewardArgs args = program(
      "while read x; do case $x in *slow*) sleep 60;; *bad*) exit 5;; *long*) head -c 1100000 /dev/zero; sleep 60;; "
      "esac;"
      " echo '{\"reward\": 1}'; done");
  args.timeout_s = 20;
  const auto reward = make_reward(args, 0, "");
  const auto error = [&](const char* response) {
    const RewardResult result = reward->score(query_of(response, ""));
    CHECK(result.reward == 0);
    return result.detail["error"].get<std::string>();
  };
  CHECK(reward->score(query_of("fast", "")).reward == 1);
  CHECK(error("bad") == "ended (exit status 5) instead of answering");
  CHECK(reward->score(query_of("fast", "")).reward == 1);
  CHECK(error("long") == "answered more than 1048576 bytes without a newline");
  CHECK(reward->score(query_of("fast", "")).reward == 1);
  args.timeout_s = 3;
  const auto impatient = make_reward(args, 0, "");
  CHECK(impatient->score(query_of("slow", "")).detail["error"] == "timeout");
  CHECK(impatient->score(query_of("fast", "")).reward == 1);
  const auto fails_often = [&] {
    for (int i = 0; i < 31; ++i) reward->score(query_of("bad", ""));
  };
  fails_often();
  CHECK(reward->score(query_of("fast", "")).reward == 1);
  fails_often();
  CHECK_THROWS_WITH(reward->score(query_of("bad", "")), Catch::Contains("32th failure in a row"));
}

}  // namespace roll
