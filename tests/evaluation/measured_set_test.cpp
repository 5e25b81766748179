#include "evaluation/measured_set.h"

#include <algorithm>
#include <catch2/catch.hpp>

namespace roll {
namespace {

JudgedSample sample(int64_t prompt, int64_t number, double score, const std::string& answer) {
  return {.prompt = prompt,
          .number = number,
          .domain = "math",
          .score = score,
          .answer = answer,
          .num_tokens = 10 * prompt + number,
          .is_truncated = number == 1};
}

std::vector<std::string> measured_names(const MeasuredSet& numbers) {
  std::vector<std::string> names;
  for (const auto& [name, estimate] : numbers.numbers) names.push_back(name);
  return names;
}

double value(const MeasuredSet& numbers, const std::string& name) {
  const Estimate* found = numbers.find(name);
  REQUIRE(found);
  return found->mean;
}

}  // namespace

TEST_CASE("a set is measured whatever the order of its responses", "[evaluation]") {
  std::vector<JudgedSample> samples{sample(0, 0, 1, "4"), sample(0, 1, 0, "5"), sample(1, 0, 0, ""),
                                    sample(1, 1, 0, "7")};
  const MeasuredSet numbers = measured(samples, 2);
  CHECK(measured_names(numbers) == std::vector<std::string>{"avg@2", "pass@2", "maj@2", "score", "response_length",
                                                            "truncated", "no_answer", "unjudged"});
  CHECK(value(numbers, "avg@2") == 0.25);
  CHECK(value(numbers, "pass@2") == 0.5);
  CHECK(value(numbers, "maj@2") == 0.25);
  CHECK(value(numbers, "response_length") == 5.5);
  CHECK(value(numbers, "truncated") == 0.5);
  CHECK(value(numbers, "no_answer") == 0.25);
  std::ranges::reverse(samples);
  CHECK(evaluation_metrics("a", measured(samples, 2)).values() == evaluation_metrics("a", numbers).values());
}

TEST_CASE("where one domain's reward finds no answers, there is no majority", "[evaluation]") {
  std::vector<JudgedSample> samples{sample(0, 0, 1, "4"), sample(0, 1, 1, "4"), sample(1, 0, 1, ""),
                                    sample(1, 1, 0, "")};
  for (JudgedSample& of_code : samples)
    if (of_code.prompt == 1) {
      of_code.domain = "code";
      of_code.answer.reset();
    }
  const MeasuredSet set = measured(samples, 2);
  CHECK(measured_names(set) ==
        std::vector<std::string>{"avg@2", "pass@2", "score", "response_length", "truncated", "unjudged"});
  CHECK(set.domains_without_answers == std::vector<std::string>{"code"});
}

TEST_CASE("what nobody judged counts in no estimate, and its prompt in none that needs more", "[evaluation]") {
  std::vector<JudgedSample> samples{sample(0, 0, 1, "4"), sample(0, 1, 1, "4"), sample(1, 0, 0, "5"),
                                    sample(1, 1, 0, "5")};
  samples[3].is_judged = false;
  const MeasuredSet numbers = measured(samples, 2);
  CHECK(value(numbers, "avg@2") == 0.5);
  CHECK(value(numbers, "pass@2") == 1);
  CHECK(value(numbers, "unjudged") == 0.25);
  for (JudgedSample& one : samples) one.is_judged = false;
  CHECK(measured_names(measured(samples, 2)) == std::vector<std::string>{"response_length", "truncated", "unjudged"});
}

TEST_CASE("sets are told a line each, and what they lack once", "[evaluation]") {
  std::vector<JudgedSample> many{sample(0, 0, 1, "4"), sample(0, 1, 0, "5"), sample(1, 0, 0, ""), sample(1, 1, 0, "7")};
  std::vector<JudgedSample> one{sample(0, 0, 1, "4")};
  const std::string whole = evaluation_table({{"many", measured(many, 2)}});
  CHECK(whole ==
        "set   prompts  samples k            avg@k  pass@k   maj@k   score  length  truncated  no answer\n"
        "many        2          2  0.2500 ± 0.2500  0.5000  0.2500  0.2500     5.5     0.5000     0.2500\n");
  one[0].answer.reset();
  many[3].is_judged = false;
  const std::string both = evaluation_table({{"many", measured(many, 2)}, {"one", measured(one, 1)}});
  CHECK_THAT(both, Catch::Contains("one         1          1           1.0000       -       -  1.0000"));
  CHECK_THAT(both, Catch::Contains("\nwithout maj@k and no answer, because these rewards extract no answers: one "
                                   "(math)\nshare of responses without a score: many (0.2500)\n"));
}

TEST_CASE("metrics of a set have names that can be foretold, with errors beside them", "[evaluation]") {
  CHECK(pass_at_ks(1).empty());
  CHECK(pass_at_ks(6) == std::vector<int64_t>{2, 4, 6});
  CHECK(pass_at_ks(8) == std::vector<int64_t>{2, 4, 8});
  const auto names = evaluation_metric_names("aime", 4);
  std::vector<JudgedSample> samples;
  for (int64_t prompt = 0; prompt < 3; ++prompt)
    for (int64_t number = 0; number < 4; ++number) samples.push_back(sample(prompt, number, number == prompt, "1"));
  const MetricValues values = evaluation_metrics("aime", measured(samples, 4)).values();
  CHECK(values.size() == names.size());
  for (const auto& [name, number] : values) CHECK(std::ranges::count(names, name) == 1);
  CHECK(names.front() == "val/aime/avg@4");
}

}  // namespace roll
