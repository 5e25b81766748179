#include "reward/choice/choice_rule.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "base/error.h"
#include "reward/choice/choice_answer.h"
#include "reward/judged.h"
#include "reward/queries.h"

namespace roll {

namespace {

RewardResult choose(RewardType type, const std::string& response, const std::string& truth,
                    RewardScale scale = RewardScale::kSoft, const std::string& prompt = "") {
  RewardArgs args = args_of(std::move(type));
  args.reward_type = scale;
  args.repetition_penalty.max_penalty = 0;
  RewardQuery query = query_of(response, truth);
  query.prompt = prompt;
  return make_reward(args, 100, "rewards.x.")->score(query);
}

bool is_right(const std::string& response, const std::string& truth, const std::string& prompt = "") {
  return choose(GeneralValArgs(), response, truth, RewardScale::kSoft, prompt).score == 1;
}

struct Graded {
  double boxed_right, right, boxed_wrong, wrong;
  bool operator==(const Graded&) const = default;
};

template <class Args>
std::pair<Graded, Graded> rewards_and_scores(RewardScale scale) {
  const auto of = [&](const char* response) { return choose(Args(), response, "B", scale); };
  const auto a = of("\\boxed{B}"), b = of("the answer is B"), c = of("\\boxed{C}"), d = of("the answer is C");
  return {{a.reward, b.reward, c.reward, d.reward}, {a.score, b.score, c.score, d.score}};
}

const std::string kPrompt = "Capital of France?\nA. Berlin\nB. Paris\n(C) Bern\nD) a city<|im_end|>\n";

}  // namespace

TEST_CASE("crossthinkqa grades right and boxed by reward_type, and its score stays 1 or 0", "[reward]") {
  using Grades = std::pair<Graded, Graded>;
  CHECK(rewards_and_scores<CrossThinkQaArgs>(RewardScale::kSoft) == Grades{{1, 0.5, -0.5, -1}, {1, 1, 0, 0}});
  CHECK(rewards_and_scores<CrossThinkQaArgs>(RewardScale::kLoose) == Grades{{1, 1, -1, -1}, {1, 1, 0, 0}});
  CHECK(rewards_and_scores<CrossThinkQaArgs>(RewardScale::kStrict) == Grades{{1, -1, -1, -1}, {1, 0, 0, 0}});
}

TEST_CASE("multiple_choice wants a box, general_val does not", "[reward]") {
  using Grades = std::pair<Graded, Graded>;
  CHECK(rewards_and_scores<MultipleChoiceArgs>(RewardScale::kSoft) == Grades{{1, 0, 0, 0}, {1, 0, 0, 0}});
  CHECK(rewards_and_scores<GeneralValArgs>(RewardScale::kSoft) == Grades{{1, 1, 0, 0}, {1, 1, 0, 0}});
}

TEST_CASE("the answer stands behind the thinking, in the last box, behind \"answer is\", or is all", "[reward]") {
  CHECK(is_right("<think>\\boxed{A}</think>\n\\boxed{B}", "B"));
  CHECK_FALSE(is_right("\\boxed{B}</think> the answer is C", "B"));
  CHECK(is_right("\\boxed{A} no: \\boxed{\\text{B}}", "B"));
  CHECK(is_right("\\boxed{B} and an open \\boxed{C", "B"));
  CHECK(is_right("\\boxed{B} and an empty \\boxed{}", "B"));
  CHECK(is_right("The ANSWER IS (B).", "B"));
  CHECK(is_right("the answer is A, or rather the answer is: B", "B"));
  CHECK(is_right("B", "B"));
  CHECK(is_right("b", "B"));
  CHECK_FALSE(is_right("", "B"));
  CHECK(is_right("\\boxed{B. Paris}", "B"));
  CHECK(choose(GeneralValArgs(), "x\\boxed{ B }", "B").detail ==
        Json{{"answer", " B "}, {"choice", "B"}, {"boxed", true}, {"rule", "letter"}});
}

TEST_CASE("a choice may be named by its text, which comes before the first letter of a word", "[reward]") {
  CHECK(is_right("\\boxed{Paris}", "B", kPrompt));
  CHECK(is_right("the answer is paris.", "B", kPrompt));
  CHECK_FALSE(is_right("\\boxed{Berlin}", "B", kPrompt));
  CHECK(is_right("\\boxed{Berlin}", "A", kPrompt));
  CHECK(is_right("\\boxed{a city}", "D", kPrompt));
  CHECK(is_right("\\boxed{Bern}", "C", kPrompt));
  CHECK_FALSE(is_right("\\boxed{Bonn}", "B", kPrompt));  // none of them; ROLL takes the B that begins it
  CHECK_FALSE(is_right("\\boxed{Paris}", "B"));
  RewardQuery query = query_of("\\boxed{Rome}", "B");
  query.row = Json{{"options", Json{"A. Oslo", "B. Rome"}}};
  CHECK(make_reward(args_of(MultipleChoiceArgs()), 0, "")->score(query).score == 1);
  query.row = Json{{"choices", Json{{"A", "Oslo"}, {"B", "Rome"}}}};
  CHECK(make_reward(args_of(MultipleChoiceArgs()), 0, "")->score(query).score == 1);
  query.row = Json{{"options", Json{"Oslo", "Rome"}}};
  CHECK(make_reward(args_of(MultipleChoiceArgs()), 0, "")->score(query).score == 1);
  CHECK(find_choices(Json{{"options", 3}}, kPrompt).size() == 4);
  const Json many = Json{{"options", std::vector<std::string>(100, "x")}};
  CHECK(find_choices(many, "").size() == 26);
}

TEST_CASE("a response takes the choice that people read in it", "[reward]") {
  std::vector<std::string> options;
  const int judged = each_judged("judged_choices.txt", [&](const std::string& letter, const std::string& text) {
    if (letter == "#" && text.starts_with(" options:")) {
      options.clear();
      std::stringstream listed(text.substr(text.find(':') + 1));
      for (std::string option; std::getline(listed, option, '|');) options.push_back(option);
      return;
    }
    if (letter == "#") return;
    const Json row{{"options", options}};
    const ChosenLetter chosen = chosen_letter(find_choice(with_new_lines(text)), find_choices(row, ""));
    INFO(text);
    CHECK((chosen.letter == 0 ? "-" : std::string(1, chosen.letter)) == letter);
  });
  CHECK(judged >= 229);
}

TEST_CASE("a ground truth without a letter is no verdict, and told before the run", "[reward]") {
  CHECK(is_right("B", "(B) Paris"));
  CHECK(is_right("B", "Option B"));
  for (const char* truth : {"", "42", "paris", "Paris", "A or B", "A city"}) {
    const auto result = choose(CrossThinkQaArgs(), "\\boxed{B}", truth);
    CHECK(reward_failure(result.detail) == RewardFailure::kUnjudged);
  }
  const auto rule = make_reward(args_of(MultipleChoiceArgs()), 0, "");
  CHECK_NOTHROW(rule->check_row(Json{{"ground_truth", "B"}}));
  CHECK_NOTHROW(rule->check_row(Json{{"ground_truth", "Rome"}, {"options", Json{"Oslo", "Rome"}}}));
  CHECK_THROWS_WITH(rule->check_row(Json{{"ground_truth", 42}}),
                    Catch::Contains("ground_truth = 42: must be the capital letter"));
  CHECK_THROWS_WITH(rule->check_row(Json::object()), Catch::Contains("ground_truth = "));
}

TEST_CASE("a response full of boxes is read once", "[reward]") {
  std::string response;
  for (int i = 0; i < 200'000; ++i) response += "\\boxed{";
  CHECK_FALSE(is_right(response, "B"));
  CHECK(is_right(response + "B}", "B"));
}

TEST_CASE("crossthinkqa's length penalty is about short responses", "[reward]") {
  RewardArgs args = args_of(CrossThinkQaArgs());
  args.response_length_penalty_coef = 2;
  const auto penalty = [&](int64_t tokens) {
    return make_reward(args, 1000, "")
        ->score(query_of("\\boxed{B}", "B", tokens))
        .detail["length_penalty"]
        .get<double>();
  };
  CHECK(penalty(0) == 1);
  CHECK(penalty(100) == 1);
  CHECK(penalty(250) == 0.5);
  CHECK(penalty(400) == 0);
  CHECK(penalty(900) == 0);
}

}  // namespace roll
