#include "reward/ifeval_rule.h"

#include <catch2/catch.hpp>
#include <set>

#include "base/error.h"
#include "reward/ifeval/instruction.h"
#include "reward/ifeval/json_text.h"
#include "reward/ifeval/language.h"
#include "reward/ifeval/sentences.h"
#include "reward/judged.h"
#include "reward/queries.h"

namespace roll {

namespace {

RewardResult judge_instructions(const RewardQuery& query, const IfevalArgs& ifeval = {}) {
  RewardArgs args = args_of(ifeval);
  args.repetition_penalty.max_penalty = 0;
  return make_reward(args, 0, "rewards.x.")->score(query);
}

/// Of a row as ROLL has them.
bool follows_function(const std::string& function, const std::string& arguments, const std::string& response) {
  const std::string truth = R"({"func_name": ")" + function + '"' + (arguments.empty() ? "" : ", " + arguments) + "}";
  const auto result = judge_instructions(query_of(response, truth));
  INFO(to_line(result.detail));
  REQUIRE_FALSE(reward_failure(result.detail));
  return result.score == 1;
}

RewardQuery ifeval_query(const std::string& response, const Json& ids, const Json& kwargs) {
  RewardQuery query = query_of(response, "");
  query.row = Json{{"instruction_id_list", ids}, {"kwargs", kwargs}};
  return query;
}

bool follows_id(const std::string& id, const std::string& kwargs, const std::string& response) {
  const auto result =
      judge_instructions(ifeval_query(response, Json::array({id}), Json::array({parse_json(kwargs, "")})));
  INFO(to_line(result.detail));
  REQUIRE_FALSE(reward_failure(result.detail));
  return result.score == 1;
}

std::string row_complaint(const Json& row) {
  try {
    make_reward(args_of(IfevalArgs()), 0, "")->check_row(row);
  } catch (const UserError& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("ROLL's rows: what its functions do not do is not copied", "[reward]") {
  CHECK(follows_function("verify_keyword_frequency", R"("word": "Cat", "N": 2)", "cat, CAT and catalogue"));
  CHECK_FALSE(follows_function("verify_keyword_frequency", R"("word": "cat", "N": 2)", "two words"));
  CHECK(follows_function("validate_forbidden_words", R"("forbidden_words": ["art"])", "a start"));
  CHECK_FALSE(follows_function("validate_forbidden_words", R"("forbidden_words": ["art"])", "Art!"));
  CHECK(follows_function("verify_sentence_constraint", R"("N": 3, "quantifier": "at least")", "One! Two! Three!"));
  CHECK(follows_function("validate_paragraphs", R"("N": 2, "first_word": "the", "i": 2)", "a\n\n\n\nThe end"));
  CHECK_FALSE(follows_function("validate_paragraphs", R"("N": 1, "first_word": "the", "i": 1)", "Therefore"));
  CHECK(follows_function("verify_bullet_points", R"("N": 2)", "**bold**\n* a\n- b"));
  CHECK_FALSE(follows_function("validate_title", "", "<<>>"));
  CHECK_FALSE(follows_function("validate_highlighted_sections", R"("N": 2)", "**one**"));
  CHECK_FALSE(follows_function("validate_choice", R"("options": ["yes", "no"])", "e"));
  CHECK(follows_function("validate_choice", R"("options": ["yes", "no"])", "yes\n"));
  CHECK(
      follows_function("validate_sections", R"("section_splitter": "SECTION", "N": 2)", "Intro\nSECTION 1\nSECTION 2"));
  CHECK_FALSE(follows_function("validate_two_responses", "", "******b"));
  for (const char* function : {"validate_uppercase", "validate_lowercase", "validate_no_commas"})
    CHECK_FALSE(follows_function(function, "", " \n"));
  CHECK_FALSE(follows_function("validate_uppercase", "", "12"));
  CHECK(follows_function("validate_frequency_capital_words", R"("N": 3, "quantifier": "around")", "A B"));
  CHECK(follows_function("validate_end", R"("end_phrase": "The end.")", "So. The end.\n"));
  CHECK_FALSE(follows_function("validate_quotation", "", "\""));
}

TEST_CASE("ROLL's rows: the rest as its functions do", "[reward]") {
  CHECK(follows_function("verify_keywords", R"("keyword_list": ["Cat", "sun"])", "catalogue of SUNS"));
  CHECK(follows_function("verify_letter_frequency", R"("letter": "a", "N": 1)", "Aa"));
  CHECK(follows_function("verify_paragraph_count", R"("N": 2)", "a\n* * *\nb"));
  CHECK_FALSE(follows_function("verify_paragraph_count", R"("N": 2)", "a\n* * *\n"));
  std::string words = "a";
  for (int i = 0; i < 22; ++i) words += " a";
  CHECK(follows_function("validate_word_constraint", R"("N": 25, "quantifier": "around")", words));  // round(2.5) is 2
  CHECK_FALSE(follows_function("validate_word_constraint", R"("N": 26, "quantifier": "around")", words.substr(4)));
  CHECK(follows_function("validate_word_constraint", R"("N": 2.0, "quantifier": "at most")", "a b"));
  CHECK_FALSE(follows_function("validate_word_constraint", R"("N": 2, "quantifier": "at most")", "a b c"));
  CHECK(follows_function("verify_postscript", R"("postscript_marker": "P.S.")", "x P.S. y"));
  CHECK_FALSE(follows_function("verify_postscript", R"("postscript_marker": "P.S.")", "x P.S. "));
  CHECK(follows_function("validate_placeholders", R"("N": 2)", "[a] and [b c]"));
  CHECK(follows_function("validate_json_format", "", R"({"a": [1, 2]})"));
  CHECK_FALSE(follows_function("validate_json_format", "", "```{}```"));
  CHECK(follows_function("validate_repeat_prompt", R"("original_prompt": "Say it.")", "Say it. It."));
  CHECK(follows_function("validate_two_responses", "", "a ****** b"));
  CHECK_FALSE(follows_function("validate_two_responses", "", "a ****** a"));
  CHECK(follows_function("validate_no_commas", "", "<think>a, b</think>\n\nc"));
}

TEST_CASE("IFEval's rows: instructions as published, texts literally", "[reward]") {
  CHECK(follows_id("keywords:existence", R"({"keywords": ["C++"]})", "in c++ it is"));
  CHECK(
      follows_id("keywords:frequency", R"({"keyword": "the", "frequency": 2, "relation": "at least"})", "The theatre"));
  CHECK(follows_id("keywords:letter_frequency", R"({"letter": "A", "let_frequency": 3, "let_relation": "less than"})",
                   "aA"));
  CHECK(follows_id("length_constraints:number_paragraphs", R"({"num_paragraphs": 2})", "***a***b***"));
  CHECK_FALSE(follows_id("length_constraints:number_paragraphs", R"({"num_paragraphs": 2})", "a*** ***b"));
  CHECK(follows_id("length_constraints:number_words", R"({"num_words": 3, "relation": "at least"})", "well-known x"));
  CHECK(follows_id("length_constraints:nth_paragraph_first_word",
                   R"({"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "weekend"})", "a\n\n\"Weekend: b"));
  CHECK(follows_id("detectable_content:postscript", R"({"postscript_marker": "P.P.S"})", "x\np. p. s y"));
  CHECK(follows_id("detectable_format:constrained_response", "{}", "Well. My answer is no."));
  CHECK(follows_id("detectable_format:multiple_sections", R"({"section_spliter": "Section", "num_sections": 2})",
                   "Section 1 a Section2 b the Section"));
  CHECK_FALSE(follows_id("detectable_format:multiple_sections", R"({"section_spliter": "Section", "num_sections": 2})",
                         "Section  1 Section A Section"));
  CHECK(follows_id("detectable_format:multiple_sections", R"({"section_spliter": "Section", "num_sections": 1})",
                   "Section \u0667"));  // a decimal digit of another script
  CHECK_FALSE(follows_id("detectable_format:multiple_sections", R"({"section_spliter": "Section", "num_sections": 1})",
                         "Section \u2460 Section \u00BD"));
  CHECK(follows_id("detectable_format:json_format", "{}", "```json\n[1]\n```"));
  CHECK_FALSE(follows_id("detectable_format:json_format", "{}", "```json\n[1\n```"));
  CHECK(follows_id("combination:two_responses", "{}", "******a******b"));
  CHECK(follows_id("combination:repeat_prompt", R"({"prompt_to_repeat": "Say IT."})", " say it. yes"));
  CHECK(follows_id("startend:end_checker", R"({"end_phrase": "The end."})", "\"x the END.\"\n"));
  CHECK(follows_id("change_case:capital_word_frequency", R"({"capital_frequency": 3, "capital_relation": "at least"})",
                   "IT'S WELL-KNOWN, (USA) Or not"));
  CHECK(follows_id("change_case:english_lowercase", "{}", "nobody knows where the children went after school"));
  CHECK_FALSE(
      follows_id("change_case:english_lowercase", "{}", "personne ne sait où les enfants sont allés après l'école"));
  CHECK(follows_id("change_case:english_capital", "{}", "NOBODY KNOWS WHERE THE CHILDREN WENT AFTER SCHOOL"));
  CHECK_FALSE(follows_id("change_case:english_capital", "{}", "NOBODY KNOWS. where"));
}

TEST_CASE("loose checks also look without the first line, the last, and asterisks", "[reward]") {
  const auto followed = [](const std::string& response, bool strict) {
    const Json kwargs = Json::array({Json{{"end_phrase", "bye"}}});
    return judge_instructions(ifeval_query(response, Json::array({"startend:end_checker"}), kwargs), {.strict = strict})
               .score == 1;
  };
  for (const char* response : {"x bye\nP.S.", "**x bye**", "Sure:\nbye\nP.S.", "Sure:\n*bye*\nP.S."}) {
    CHECK_FALSE(followed(response, true));
    CHECK(followed(response, false));
  }
  CHECK_FALSE(followed("bye\nx\ny", false));
  CHECK(ifeval::loose_texts("a\nb\n*c*") ==
        std::vector<std::string>{"a\nb\n*c*", "b\n*c*", "a\nb", "b", "a\nb\nc", "b\nc", "a\nb", "b"});
  CHECK(ifeval::loose_texts("a").size() == 2);
}

TEST_CASE("of several instructions all must be followed, or their share counts", "[reward]") {
  const Json ids = Json::array({"punctuation:no_comma", "startend:quotation", "punctuation:no_comma"});
  const RewardQuery query = ifeval_query("a b", ids, Json::array({nullptr, Json::object(), Json::object()}));
  const auto all = judge_instructions(query);
  CHECK(all.score == 0);
  CHECK(all.detail["followed"] == Json::array({true, false, true}));
  CHECK(judge_instructions(query, {.score = InstructionShare::kShare}).reward == Approx(2.0 / 3));
  CHECK(judge_instructions(ifeval_query("\"a\"", ids, Json::array({nullptr, nullptr, nullptr}))).score == 1);
}

TEST_CASE("an instruction that nobody knows, or without its arguments, is no verdict and a fault of the row",
          "[reward]") {
  const auto complaint_of_truth = [](const std::string& truth) {
    const auto result = judge_instructions(query_of("x", truth));
    CHECK(reward_failure(result.detail) == RewardFailure::kUnjudged);
    const std::string complaint = row_complaint(Json{{"ground_truth", truth}});
    CHECK(result.detail["error"] == complaint);
    return complaint;
  };
  CHECK_THAT(complaint_of_truth(""), Catch::Contains("ground_truth: missing"));
  CHECK_THAT(complaint_of_truth("yes"), Catch::Contains("ground_truth = yes: must be the JSON of an object with a "
                                                        "func_name, such as {\"func_name\": \"validate_title\"}"));
  CHECK_THAT(complaint_of_truth("[1]"), Catch::Contains("ground_truth = [1]: must be the JSON of an object"));
  CHECK_THAT(complaint_of_truth(R"({"N": 1})"), Catch::Contains("with a func_name"));
  CHECK_THAT(
      complaint_of_truth(R"({"func_name": "validate_tilte"})"),
      Catch::Contains("func_name = \"validate_tilte\": unknown instruction") && Catch::Contains("'validate_title'"));
  CHECK_THAT(complaint_of_truth(R"({"func_name": null})"), Catch::Contains("func_name = null"));
  CHECK_THAT(complaint_of_truth(R"({"func_name": "verify_bullet_points", "N": null})"),
             Catch::Contains("ground_truth: verify_bullet_points: N = null: must be a whole number >= 0"));
  CHECK_THAT(complaint_of_truth(R"({"func_name": "verify_bullet_points", "N": 1.5})"), Catch::Contains("N = 1.5"));
  CHECK_THAT(complaint_of_truth(R"({"func_name": "verify_bullet_points", "N": -1})"), Catch::Contains("N = -1"));
  CHECK_THAT(complaint_of_truth(R"({"func_name": "verify_keywords", "keyword_list": []})"),
             Catch::Contains("keyword_list = []"));
  CHECK_THAT(complaint_of_truth(R"({"func_name": "verify_keywords", "keyword_list": ["a", ""]})"),
             Catch::Contains("texts that are not blank"));
  CHECK_THAT(complaint_of_truth(R"({"func_name": "verify_letter_frequency", "letter": "ab", "N": 1})"),
             Catch::Contains("one character"));
  CHECK_THAT(complaint_of_truth(R"({"func_name": "validate_word_constraint", "N": 1, "quantifier": "more"})"),
             Catch::Contains("quantifier = \"more\": must be one of \"less than\", \"at least\""));
  CHECK_THAT(complaint_of_truth(R"({"func_name": "validate_paragraphs", "N": 1, "i": 2, "first_word": "a"})"),
             Catch::Contains("i = 2: must be in 1..1"));
  CHECK_THAT(complaint_of_truth(R"({"func_name": "validate_response_language", "language": "xy"})"),
             Catch::Contains("language = xy: unknown language"));
  const Json kwargs = Json::array({Json::object()});
  CHECK_THAT(row_complaint(Json{{"instruction_id_list", Json::array({"keywords:existence"})}, {"kwargs", kwargs}}),
             Catch::Contains("kwargs[0]: keywords:existence: keywords = null"));
  CHECK_THAT(row_complaint(Json{{"instruction_id_list", Json::array({"a"})}, {"kwargs", kwargs}}),
             Catch::Contains("instruction_id_list[0] = \"a\""));
  CHECK_THAT(row_complaint(Json{{"instruction_id_list", Json::array({"a", "b"})}, {"kwargs", kwargs}}),
             Catch::Contains("must be a list of 2 objects"));
  CHECK_THAT(row_complaint(Json{{"instruction_id_list", Json::array()}}), Catch::Contains("instruction_id_list = []"));
  CHECK(row_complaint(Json{{"instruction_id_list", R"(["startend:quotation"])"}, {"kwargs", "[{}]"}}).empty());
  CHECK(row_complaint(Json{{"ground_truth", Json{{"func_name", "validate_title"}}}}).empty());
}

TEST_CASE("all kinds are there, each once", "[reward]") {
  // IFEval's 25, and a name of AllenAI's for one of them.
  CHECK(ifeval::roll_functions().size() == 25);
  CHECK(ifeval::ifeval_instructions().size() == 26);
  CHECK(ifeval::allenai_instructions().size() == 28);
  std::set<std::string_view> names;
  for (const auto kinds : {ifeval::roll_functions(), ifeval::ifeval_instructions(), ifeval::allenai_instructions()})
    for (const auto& kind : kinds) CHECK(names.insert(kind.name).second);
}

TEST_CASE("JSON is what its grammar says, whatever a program could hold", "[reward]") {
  for (const char* json :
       {"1e400", R"("\ud800")", " [] ", "{}", "-0.5E+3", R"({"a": [1, {"b": null}], "a": true})", "\"\x7f\""})
    CHECK(ifeval::is_json(json));
  for (const char* text : {"\xEF\xBB\xBF{}", "NaN", "-Infinity", "", "01", "1.", "[1,]", "[1}", R"({"a": 1])",
                           R"({"a": 1,})", "{1: 2}", "[1] 2", R"("\x")", "\"a\tb\"", "[", "{\"a\"", "]", "tru",
                           "\xC2\xA0"
                           "1"})
    CHECK_FALSE(ifeval::is_json(text));
  const std::string deep(100'000, '['), close(100'000, ']');
  CHECK(ifeval::is_json(deep + close));
  CHECK_FALSE(ifeval::is_json(deep + close + "]"));
  CHECK_FALSE(ifeval::is_json(deep));
}

TEST_CASE("a sigma counts as one whatever its form, and ends a word in lower case as its final form", "[reward]") {
  CHECK(follows_id("keywords:existence", R"({"keywords": ["\u03bf\u03b4\u03cc\u03c2"]})", "\u039F\u0394\u038C\u03A3"));
  CHECK(follows_id("keywords:existence", R"({"keywords": ["\u039f\u0394\u038c\u03a3"]})",
                   "\u03BF\u03B4\u03CC\u03C3\u03B1"));
  CHECK(follows_function("validate_forbidden_words", R"("forbidden_words": ["\u03bf\u03c2"])", "\u039F\u03A3\u0391"));
  CHECK_FALSE(
      follows_function("validate_forbidden_words", R"("forbidden_words": ["\u03bf\u03c2"])", "a \u039F\u03A3."));
  CHECK(follows_id("startend:end_checker", R"({"end_phrase": "\u03bf\u03b4\u03cc\u03c2"})",
                   "a \u039F\u0394\u038C\u03A3"));
  CHECK(follows_id("keywords:letter_frequency",
                   R"({"letter": "\u03c2", "let_frequency": 1, "let_relation": "at least"})",
                   "\u039F\u03A3 \u03A3\u0391"));
}

TEST_CASE("sentences end with their punctuation, abbreviations aside", "[reward]") {
  using ifeval::count_sentences;
  CHECK(count_sentences("Dr. Smith, of the U.S. embassy, met J. Doe. He said \"Hi!\" Then he left...") == 3);
  CHECK(count_sentences("one. two? three! four") == 4);
  CHECK(count_sentences("It costs 3.50. See example.com. ") == 2);
  CHECK(count_sentences("") == 0);
  CHECK(count_sentences("... !! ?") == 0);
  CHECK(count_sentences("今朝は寒かった。家で読んだ。") == 2);
  CHECK(count_sentences("No. (Yes.) **Maybe.**") == 3);
  CHECK(count_sentences("so it ended, vs.") == 1);
  const int judged = each_judged("judged_sentences.txt", [](const std::string& count, const std::string& text) {
    INFO(text);
    if (count != "#") CHECK(count_sentences(with_new_lines(text)) == std::stoi(count));
  });
  CHECK(judged >= 53);
}

TEST_CASE("languages go by their codes and names", "[reward]") {
  using namespace ifeval;
  CHECK(find_language("fr") == "fr");
  CHECK(find_language("French") == "fr");
  CHECK(find_language("he") == "he");
  CHECK(find_language("ZH") == "zh");
  CHECK(find_language("no such").empty());
  for (const char* code : {"en", "es", "pt", "ar", "hi", "fr", "ru", "de", "ja", "it", "bn", "uk", "th", "ur", "ta",
                           "te", "bg", "ko", "pl", "he", "fa", "vi", "ne", "sw", "kn", "mr", "gu", "pa", "ml", "fi"})
    CHECK(find_language(code) == code);
  CHECK(detect_language("Nobody knows where the children went after school.").code == "en");
  CHECK(detect_language("הילדים הלכו הביתה אחרי בית הספר").code == "he");
  CHECK(detect_language("孩子们放学后去了图书馆看书").code == "zh-cn");
  CHECK(detect_language("孩子們放學後去了圖書館看書").code == "zh-tw");
  CHECK(is_language("zh-tw", "zh"));
  CHECK_FALSE(is_language("zh-tw", "zh-cn"));
  CHECK(detect_language("12 34, 5").code.empty());
  CHECK(detect_language("").code.empty());
}

TEST_CASE("an instruction's expressions have a time limit", "[reward]") {
  RewardArgs args = args_of(IfevalArgs());
  args.timeout_s = 0.05;
  args.repetition_penalty.max_penalty = 0;
  const std::string truth = R"({"func_name": "validate_placeholders", "N": 1})";
  const auto result = make_reward(args, 0, "")->score(query_of(std::string(200'000, '[') + "\n]", truth));
  CHECK(reward_failure(result.detail) == RewardFailure::kTimeout);
}

}  // namespace roll
