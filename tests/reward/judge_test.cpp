#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "base/error.h"
#include "base/json.h"
#include "checkpoint/temporary_folder.h"
#include "config/load.h"
#include "config/writer.h"
#include "reward/judge/chat_answer.h"
#include "reward/judge/judge_model.h"
#include "reward/judge/judge_rule.h"
#include "reward/judge/verdict.h"
#include "reward/queries.h"
#include "reward/reward_pool.h"

namespace roll {

namespace {

std::string content(const JudgePrompt& prompt, const JudgeQuestion& question) {
  const Json messages = prompt.messages(question);
  CHECK(messages.size() == 1);
  CHECK(messages[0]["role"] == "user");
  return messages[0]["content"];
}

/// -1: unreadable.
double score_of(std::string_view text, std::optional<double> best = {}, bool is_cut = false) {
  const Verdict verdict = parse_verdict(text, {.best_score = best}, is_cut);
  CHECK(verdict.score.has_value() == verdict.problem.empty());
  return verdict.score.value_or(-1);
}

std::string judge_complaint(const std::string& yaml) {
  try {
    make_reward(load_yaml<RewardArgs>("type: llm_judge\n" + yaml, "f").config, 0, "rewards.x.");
  } catch (const UserError& e) {
    return e.what();
  }
  return "";
}

/// A judge that is a program which echoes `words` to every question.
RewardArgs echo_judge(const std::string& words, LlmJudgeArgs judge = {}) {
  judge.judge_model_type = JudgeModelType::kCommand;
  const std::string answer = to_line(Json{{"text", words}});
  judge.command = {"sh", "-c", "while read x; do echo '" + answer + "'; done"};
  return args_of(judge);
}

ChatAnswer chat(const std::string& body, int status = 200) {
  return parse_chat_answer(status, body);
}

std::string chat_with(const std::string& message, const std::string& end = "stop") {
  return R"({"choices": [{"message": )" + message + R"(, "finish_reason": ")" + end +
         R"("}], "usage": {"total_tokens": 12}})";
}

}  // namespace

TEST_CASE("a template's fields are filled once, and its other braces are its own", "[reward]") {
  const JudgePrompt prompt(R"(\boxed{answer} {"score": 1} {{x}} {question}|{response}|{reference}|{question}{)");
  CHECK(content(prompt, {"q", "r", "t"}) == R"(\boxed{answer} {"score": 1} {{x}} q|r|t|q{)");
  CHECK(content(prompt, {"{response}", "{reference}{question}", "secret"}) ==
        R"(\boxed{answer} {"score": 1} {{x}} {response}|{reference}{question}|secret|{response}{)");
  CHECK(prompt.needs_reference());
  CHECK_FALSE(JudgePrompt("{response}").needs_reference());
  CHECK_THROWS_WITH(JudgePrompt("Is {Response} good? {reference}"), Catch::Contains("has no field {response}"));
}

TEST_CASE("the built-in templates hold their fields, and say how good a score can be", "[reward]") {
  for (const auto& [name, text] : enum_names(JudgeTemplate())) {
    const std::string asked = content(JudgePrompt(template_text(name)), {"<q>", "<r>", "<t>"});
    CHECK_THAT(asked, Catch::Contains("<q>") && Catch::Contains("<r>"));
    CHECK((asked.find("<t>") != std::string::npos) == (name != JudgeTemplate::kScore));
    CHECK((asked.find("Score: N") != std::string::npos) ==
          (template_answer_format(name).grade && template_answer_format(name).best_score == 10));
    CHECK((asked.find("YES or NO") != std::string::npos) == template_answer_format(name).yes_or_no);
  }
}

TEST_CASE("the template that is named as ROLL's has its conditions", "[reward]") {
  const std::string_view text = template_text(JudgeTemplate::kSameAnswer);
  for (const char* condition :
       {"matches the reference exactly: YES", "does not match: NO", "unclear, incomplete or ambiguous: NO",
        "letter of an option, a number, an expression, or a\nlist of answers", "in Chinese or another language",
        "without any other word, punctuation or explanation"})
    CHECK_THAT(std::string(text), Catch::Contains(condition));
}

TEST_CASE("the question is the last message of the user", "[reward]") {
  RewardQuery query;
  query.prompt = "<|user|>2?";
  CHECK(judge_question(query) == "<|user|>2?");
  query.messages = Json::array({{{"role", "user"}, {"content", "1?"}},
                                {{"role", "assistant"}, {"content", "1"}},
                                {{"role", "user"}, {"content", "user\n2?"}},
                                {{"role", "system"}, {"content", "s"}}});
  CHECK(judge_question(query) == "user\n2?");
  for (const Json& other : {Json("no list"), Json(3), Json::array(), Json::array({{{"role", "system"}}}),
                            Json::array({1, {{"role", 2}}})}) {
    query.messages = other;
    CHECK(judge_question(query) == "<|user|>2?");
  }
}

TEST_CASE("the last score of a judge counts, out of what is best", "[reward]") {
  CHECK(score_of("Score: 7") == 0.7);
  CHECK(score_of("score:0.25") == 0.25);
  CHECK(score_of("Score: 1") == 1);  // ROLL's reading
  CHECK(score_of("Score: 1", 10) == 0.1);
  CHECK(score_of("Score: 4", 5) == 0.8);
  CHECK(score_of("Score: 10.") == 1);
  CHECK(score_of("Score: 3\nOn reflection:\nScore: 9") == 0.9);
  CHECK(score_of("**Final Score:** **8**/10 ...") == 0.8);
  CHECK(score_of("Score: 8 out of 16") == 0.5);
  CHECK(score_of("{\"score\": 6, \"why\": \"no, yes\"}") == 0.6);
  CHECK(score_of("final_score = [[5]]") == 0.5);
  CHECK(score_of("SCORE\xEF\xBC\x9A"
                 "2") == 0.2);
  CHECK(score_of("<think>Score: 1? Score: 2?</think>Score: 9") == 0.9);
  CHECK(score_of("<think>a</think>YES</think>NO") == 0);  // what was thought ends at the last mark
}

// tests/golden/reward/judge_replies.jsonl: replies judged by hand; null: unclear, so that the judge is asked again.
TEST_CASE("a judge's replies mean what a reader takes them for, or are unclear", "[reward]") {
  const std::map<std::string, AnswerFormat> asked{{"grade", template_answer_format(JudgeTemplate::kScore)},
                                                  {"yes_or_no", template_answer_format(JudgeTemplate::kSameAnswer)},
                                                  {"own", {}}};
  std::ifstream in(std::filesystem::path(ROLL_SOURCE_DIR) / "tests/golden/reward/judge_replies.jsonl");
  int64_t num_replies = 0;
  for_each_json_line(in, "judge_replies.jsonl", [&](int64_t, const Json& row) {
    const Verdict verdict =
        parse_verdict(row["reply"].get<std::string>(), asked.at(row["asked"]), row.value("cut", false));
    INFO(row);
    CHECK(verdict.score.has_value() == !row["judged"].is_null());
    if (verdict.score && !row["judged"].is_null()) CHECK(*verdict.score == Approx(row["judged"].get<double>()));
    ++num_replies;
  });
  CHECK(num_replies >= 80);
}

TEST_CASE("a score that is not certain is none", "[reward]") {
  for (const char* text : {"Score: 11",       "Score: -1",  "Score: 7-8",  "Score: 7,5",      "Score: 70%",
                           "Score: 1.2.3",    "Score: 1e1", "Score: high", "Score:",          "Score: 8/0",
                           "Score: 8/good",   "Score: 9/8", "Score: nan",  "Score: inf",      "Score: 7\nScore: unsure",
                           "Score: 8b",       "",           " \n",         "<think>Score: 7", "The score is good",
                           "<think>x</think>"})
    CHECK(score_of(text) == -1);
  CHECK(score_of("Score: 7", 5) == -1);
  CHECK(score_of("underscore: 7") == -1);
  CHECK_THAT(parse_verdict(std::string(1000, 'x')).problem,
             Catch::Contains("neither a line") && Catch::Contains(" ..."));
}

TEST_CASE("what the token limit cut off is not taken for whole", "[reward]") {
  CHECK(score_of("Score: 1", 10, true) == -1);
  CHECK(score_of("Score: 8/1", {}, true) == -1);
  CHECK(score_of("Score: 1\n", 10, true) == 0.1);
  CHECK(score_of("YES", {}, true) == 1);
  CHECK(score_of("No difference so far, but", {}, true) == -1);
}

TEST_CASE("YES and NO count alone on the first line or the last, not as words of a sentence", "[reward]") {
  for (const char* text : {"YES", " yes.\n", "**Yes**", "Output: yes", "I see no error in it.\nYES",
                           "YES\nThere is no difference.", "yes\xE3\x80\x82"})
    CHECK(score_of(text) == 1);
  for (const char* text : {"NO", "It differs.\nOutput: no", "**NO**\n\nThe answer yes would be right for 5."})
    CHECK(score_of(text) == 0);
  for (const char* text : {"YES or NO", "YES\nNO", "yesterday", "nothing", "NOTE", "I see no error", "no\xC3\xABl",
                           "maybe", "eyes know", "No errors found, so YES", "No, it is 4.", "it differs: no",
                           "The final answers are the same, so YES is right."})
    CHECK(score_of(text) == -1);
}

TEST_CASE("an expression of one's own finds the score", "[reward]") {
  const LlmJudgeArgs judge{.judge_score_pattern = "\\[\\[(.*?)\\]\\]", .judge_score_max = 5};
  const auto result = [&](const std::string& words) { return JudgeRule(judge, {}).verdict({.text = words}); };
  CHECK(result("Score: 1 [[2]] [[ 4 ]]").score == 0.8);
  CHECK(result("[[no]]").score == 0);
  CHECK(result("[[3/4]]").score == 0.75);
  CHECK(reward_failure(result("Score: 4").detail) == RewardFailure::kUnparsable);
  CHECK(reward_failure(result("[[4 of]]").detail) == RewardFailure::kUnparsable);
  CHECK_THAT(judge_complaint("judge_api_url: http://h\njudge_model_name: m\njudge_score_pattern: (x"),
             Catch::Contains("rewards.x.judge_score_pattern = (x: not a regular expression"));
}

TEST_CASE("a judge's words become a score, or a failure, and are kept", "[reward]") {
  const auto result = [](const std::string& words, const std::string& truth = "4") {
    return make_reward(echo_judge(words), 0, "")->score(query_of("r", truth));
  };
  CHECK(result("Score: 1").score == 0.1);  // the built-in template asks for 0..10
  CHECK(result("Score: 1").detail["judge"] == "Score: 1");
  CHECK(result("YES" + std::string(2000, '.')).detail["judge"].get<std::string>().size() == 500);
  CHECK(result("YES" + std::string(495, '.') + " \xE3\x80\x82").detail["judge"] == "YES" + std::string(495, '.') + " ");
  CHECK(reward_failure(result("hm").detail) == RewardFailure::kUnparsable);
  CHECK(reward_failure(result("Score: 7", " ").detail) == RewardFailure::kUnjudged);
  LlmJudgeArgs without_reference;
  without_reference.judge_prompt = JudgeTemplate::kScore;
  CHECK(make_reward(echo_judge("Score: 7", without_reference), 0, "")->score(query_of("r", "")).score == 0.7);
}

TEST_CASE("a template of one's own is a file", "[reward]") {
  const test::TemporaryFolder folder;
  const std::string file = (folder.path() / "judge.txt").string();
  std::ofstream(file) << "Is {response} = {reference}?";
  LlmJudgeArgs judge{.judge_prompt_file = file};
  CHECK(std::get<Json>(JudgeRule(judge, {}).question(query_of("1", "2")))[0]["content"] == "Is 1 = 2?");
  judge.judge_prompt = JudgeTemplate::kScore;
  CHECK_THROWS_WITH(JudgeRule(judge, {.where = "w."}),
                    Catch::Contains("w.judge_prompt = score names another template"));
  const std::string served = "judge_api_url: http://h\njudge_model_name: m\n";
  std::ofstream(file) << "Is {reference} right?";
  CHECK_THAT(judge_complaint(served + "judge_prompt_file: " + file),
             Catch::Contains(file + ": has no field {response}"));
  CHECK_THAT(judge_complaint(served + "judge_prompt_file: /no/such"), Catch::Contains("judge_prompt_file = /no/such"));
}

TEST_CASE("bad judge options name the key and what to do", "[reward]") {
  const auto said = [](const std::string& yaml, const std::string& what) {
    CHECK_THAT(judge_complaint(yaml), Catch::Contains(what));
  };
  said("", "rewards.x.judge_api_url: missing");
  said("judge_api_url: http://h", "rewards.x.judge_model_name: missing");
  const std::string named = "judge_model_name: m\njudge_api_url: ";
  CHECK(judge_complaint(named + "https://h:8000/v1/").empty());
  for (const char* url : {"localhost:8000/v1", "ftp://h/v1", "h/v1", "''", "'http://'", "file:///etc/passwd"})
    said(named + url, "must be a URL");
  said(named + "https://me:secret@h/v1", "rewards.x.judge_api_url = ...@h/v1: must not hold a user or password");
  said(named + "https://h/v1?key=1", "without ? and #");
  said(named + "http://h\njudge_api_key: \"a\\nb\"", "rewards.x.judge_api_key: must be printable");
  CHECK(judge_complaint("judge_model_type: inference").empty());
  said("judge_model_type: command", "rewards.x.command: missing");
  said("judge_prompt: PERALIGN-RLVR-prompt", "asks about personas");
  said("judge_prompt: scores", "did you mean 'score'?");
  said("judge_score_max: 0", "judge_score_max = 0: must be above 0");
  said(named + "http://h\ngenerating_args: {num_return_sequences: 2}", "a judge gives one answer");
  said("judge_top: 1", "judge_top: unknown key");
}

TEST_CASE("a judge's key stands in no error and in no resolved configuration", "[reward]") {
  const std::string key = "sk-topsecret1", yaml = "type: llm_judge\njudge_api_key: " + key + "\n";
  const std::string resolved = to_yaml(load_yaml<RewardArgs>(yaml, "f").config);
  CHECK_THAT(resolved, Catch::Contains("judge_api_key: \"(hidden)\"") && !Catch::Contains(key));
  CHECK_THROWS_WITH(load_yaml<RewardArgs>(resolved, "f"), Catch::Contains("write ${oc.env:NAME}"));
  for (const std::string& wrong :
       {"type: math_rule\njudge_api_key: " + key,
        "type: llm_judge\njudge_api_key: [" + key + ", 1]\njudge_model_type: x", "type: llm_judge\nmy_api_key: " + key})
    CHECK_THROWS_WITH(load_yaml<RewardArgs>(wrong, "f"), !Catch::Contains(key));
  CHECK_THROWS_WITH(load_yaml<RewardArgs>("type: math_rule\njudge_api_key: " + key, "f"),
                    Catch::Contains("judge_api_key = (hidden): is a key of type llm_judge"));
  CHECK(shown_argument("rewards.x.judge_api_key=" + key) == "rewards.x.judge_api_key=(hidden)");
  CHECK(shown_argument("rewards.x.judge_api_key=${oc.env:K}") == "rewards.x.judge_api_key=${oc.env:K}");
  CHECK(shown_argument("rewards.x.type=llm_judge") == "rewards.x.type=llm_judge");
  CHECK(shown_argument("system_envs.HF_TOKEN=hf_" + key) == "system_envs.HF_TOKEN=(hidden)");
  CHECK(shown_argument("rewards.x={type: llm_judge, judge_api_key: " + key + "}") == "rewards.x=(hidden)");
  CHECK(shown_argument("prompt={max_new_tokens: 3}") == "prompt={max_new_tokens: 3}");
  CHECK(without({key}, "a " + key + key + " b") == "a (hidden)(hidden) b");
  CHECK(without({"1"}, "Score: 1") == "Score: 1");
}

TEST_CASE("a chat request holds what changes something", "[reward]") {
  LlmJudgeArgs judge{.judge_model_name = "m"};
  const Json messages = Json::array();
  CHECK(chat_request(judge, messages) ==
        Json{{"model", "m"}, {"messages", messages}, {"temperature", 0.0}, {"max_tokens", 1024}});
  judge.generating_args = {.temperature = 0.5,
                           .top_p = 0.8,
                           .top_k = 50,
                           .min_p = 0.1,
                           .repetition_penalty = 1.1,
                           .presence_penalty = 0.2,
                           .frequency_penalty = 0.3,
                           .stop_strings = {"x"}};
  CHECK(chat_request(judge, messages) == Json{{"model", "m"},
                                              {"messages", messages},
                                              {"temperature", 0.5},
                                              {"top_p", 0.8},
                                              {"top_k", 50},
                                              {"min_p", 0.1},
                                              {"repetition_penalty", 1.1},
                                              {"presence_penalty", 0.2},
                                              {"frequency_penalty", 0.3},
                                              {"stop", {"x"}}});
  judge.generating_args.do_sample = false;
  CHECK(chat_request(judge, messages)["temperature"] == 0.0);
}

TEST_CASE("a chat completion's text is read in all forms that servers have for it", "[reward]") {
  const ChatAnswer plain = chat(chat_with(R"({"role": "assistant", "content": "YES"})"));
  CHECK(plain.text == "YES");
  CHECK_FALSE(plain.failure);
  CHECK_FALSE(plain.is_cut);
  CHECK(plain.num_tokens == 12);
  CHECK(chat(chat_with(R"({"content": [{"type": "text", "text": "Y"}, {"type": "text", "text": "ES"}]})")).text ==
        "YES");
  CHECK(chat(chat_with(R"({"content": "YES", "reasoning_content": "NO"})", "length")).text == "YES");
  CHECK(chat(chat_with(R"({"content": "YES"})", "length")).is_cut);
}

TEST_CASE("what a server says instead of an answer is a failure of the right kind", "[reward]") {
  const auto kind = [](const std::string& body, int status = 200) { return chat(body, status).failure; };
  for (const std::string& body :
       {std::string(), std::string("<html>502</html>"), std::string(R"({"choices": [{"mess)"), std::string("{}"),
        std::string(R"({"choices": []})"), std::string(R"({"choices": {}})"), std::string("[1]"), std::string("null"),
        std::string("\xff\xfe"), chat_with("{}"), chat_with("[]"), chat_with(R"({"content": null})"),
        chat_with(R"({"content": ""})"), chat_with(R"({"content": 3})"),
        chat_with(R"({"content": null, "reasoning_content": "YES"})"), std::string(100000, '[')})
    CHECK(kind(body) == RewardFailure::kUnparsable);
  CHECK_THAT(chat(chat_with(R"({"content": null, "reasoning_content": "hm"})", "length")).reason,
             Catch::Contains("raise max_new_tokens"));
  CHECK(kind(R"({"error": {"message": "overloaded"}})") == RewardFailure::kUnavailable);
  CHECK(chat(R"({"error": {"message": "overloaded"}})").reason == "error: \"overloaded\"");
  for (const int status : {429, 500, 502, 503, 504, 408, 409, 401, 403, 404, 302})
    CHECK(kind("<html>", status) == RewardFailure::kUnavailable);
  for (const int status : {400, 413, 422}) CHECK(kind(R"({"error": "too long"})", status) == RewardFailure::kUnjudged);
  CHECK(kind(chat_with(R"({"content": null, "refusal": "no"})")) == RewardFailure::kUnjudged);
  CHECK(kind(chat_with(R"({"content": "YES"})", "content_filter")) == RewardFailure::kUnjudged);
  for (const int status : {401, 403, 404, 307}) CHECK(chat("", status).is_refused);
  for (const int status : {400, 429, 500, 503}) CHECK_FALSE(chat("", status).is_refused);
  CHECK_THAT(chat("", 307).reason, Catch::Contains("a redirect, which is not followed"));
}

TEST_CASE("any bytes of a judge and of its server are read without harm", "[reward]") {
  const std::string_view alphabet = "{}[]\",:0123456789./-eE scoreSCORyesYESnoNO<think>/=*\n\xff\x00\xc3";
  std::mt19937_64 random(3);
  for (int i = 0; i < 20000; ++i) {
    std::string text = i % 2 ? "Score:" : R"({"choices": [{"message": {"content": )";
    for (size_t n = random() % 40; n > 0; --n) text += alphabet[random() % alphabet.size()];
    const AnswerFormat asked{
        .grade = i % 7 != 0, .yes_or_no = i % 4 != 0, .best_score = i % 3 ? std::optional(10.0) : std::nullopt};
    const Verdict verdict = parse_verdict(text, asked, i % 5 == 0);
    REQUIRE(verdict.score.has_value() == verdict.problem.empty());
    REQUIRE((!verdict.score || (*verdict.score >= 0 && *verdict.score <= 1)));
    parse_chat_answer(i % 4 ? 200 : 500, text);
  }
}

}  // namespace roll
