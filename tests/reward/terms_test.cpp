#include "reward/terms.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "config/load.h"
#include "config/writer.h"
#include "error_of.h"
#include "reward/queries.h"
#include "reward/shaped.h"

namespace roll {

using testing::error_of;

namespace {

RewardArgs terms_of(const std::string& yaml) {
  return load_yaml<RewardArgs>(yaml, "f").config;
}

constexpr const char* kTwo = R"(
terms:
  - {type: exact_match, weight: 2, ignore_case: true}
  - {type: regex, weight: -0.5, pattern: x+}
)";

std::string complaint_about_terms(const std::string& yaml) {
  return error_of([&] { make_reward(terms_of(yaml), 0, "rewards.x."); });
}

}  // namespace

TEST_CASE("terms add up by their weights, and the first one scores", "[reward]") {
  const auto rule = make_reward(terms_of(kTwo), 0, "rewards.x.");
  const auto both = rule->score(query_of("X xx", "x XX"));
  CHECK(both.reward == 1.5);
  CHECK(both.score == 1);
  CHECK(both.detail["terms"][0]["type"] == "exact_match");
  CHECK(both.detail["terms"][1]["reward"] == 1);
  CHECK(both.detail["terms"][1]["detail"]["rule"] == "match");
  const auto second = rule->score(query_of("xx", "y"));
  CHECK(second.reward == -0.5);
  CHECK(second.score == 0);
}

TEST_CASE("a term that cannot judge leaves the whole without a verdict", "[reward]") {
  const auto rule = make_reward(terms_of("terms: [{type: regex, pattern: x}, {type: exact_match}]"), 0, "");
  const auto result = rule->score(query_of("x", ""));
  CHECK(reward_failure(result.detail) == RewardFailure::kUnjudged);
  CHECK(result.reward == 0);
}

TEST_CASE("each term has its own scale, and the sum the domain's", "[reward]") {
  const std::string type = "{type: crossthinkqa, reward_type: strict}";
  CHECK(make_reward(terms_of("terms: [" + type + "]"), 0, "")->score(query_of("B", "B")).reward == -1);
  const std::string half = R"({type: command, command: [sh, -c, 'while read x; do echo "{\"reward\": 0.5}"; done'])";
  const auto sum = [&](const std::string& yaml) { return make_reward(terms_of(yaml), 0, "")->score(query_of("", "")); };
  CHECK(sum("terms: [" + half + ", weight: 3}]").reward == 1.5);
  CHECK(sum("terms: [" + half + ", weight: 3, reward_type: hard}]").reward == 3);
  CHECK(sum("reward_type: hard\nterms: [" + half + ", weight: 3}]").reward == 1);
}

TEST_CASE("rows are checked by every term", "[reward]") {
  const auto rule = make_reward(terms_of("terms: [{type: regex, pattern: x}, {type: multiple_choice}]"), 0, "");
  CHECK_NOTHROW(rule->check_row(Json{{"ground_truth", "A"}}));
  CHECK_THROWS_WITH(rule->check_row(Json{{"ground_truth", "1"}}), Catch::Contains("capital letter"));
}

TEST_CASE("keys of terms are refused where they do not belong", "[reward]") {
  CHECK_THAT(complaint_about_terms("type: regex\npattern: x\nterms: [{type: exact_match}]"),
             Catch::Contains("pattern") && Catch::Contains("the types here are in terms; move it to its term"));
  CHECK_THAT(complaint_about_terms("type: exact_match\nterms: [{type: exact_match}]"),
             Catch::Contains("rewards.x.type: cannot be combined with terms"));
  CHECK_THAT(complaint_about_terms("worker_cls: a.B\nterms: [{type: exact_match}]"),
             Catch::Contains("rewards.x.worker_cls: cannot be combined with terms"));
  CHECK_THAT(complaint_about_terms("terms: [{type: reward_model}]"),
             Catch::Contains("rewards.x.terms[0].type = reward_model: its model scores a whole domain"));
  CHECK_THAT(complaint_about_terms("terms: [{weight: 1}]"), Catch::Contains("rewards.x.terms[0].type: missing"));
  CHECK_THAT(complaint_about_terms("terms: [{type: exact_match}, {type: regex}]"),
             Catch::Contains("rewards.x.terms[1].pattern: missing"));
  CHECK_THAT(
      complaint_about_terms("terms: [{type: exact_match, pattern: x}]"),
      Catch::Contains("f:1:") && Catch::Contains("terms[0].pattern") && Catch::Contains("is a key of type regex"));
  CHECK_THAT(complaint_about_terms("terms: [{type: exact_match, reward_type: loose}]"),
             Catch::Contains("rewards.x.terms[0].reward_type = loose"));
  CHECK_THAT(complaint_about_terms("reward_type: strict\nterms: [{type: crossthinkqa}]"),
             Catch::Contains("rewards.x.reward_type = strict: belongs to a term"));
  CHECK_THAT(complaint_about_terms("terms: [{type: exact_mach}]"), Catch::Contains("did you mean 'exact_match'"));
  CHECK_THAT(complaint_about_terms("terms: [{type: exact_match, wieght: 1}]"),
             Catch::Contains("did you mean 'weight'"));
}

TEST_CASE("terms are written as they are read", "[reward]") {
  const std::string yaml = to_yaml(terms_of(kTwo));
  CHECK(to_yaml(terms_of(yaml)) == yaml);
  CHECK_THAT(yaml, Catch::Contains("pattern: x+"));
}

TEST_CASE("the parts of a reward add up to it, with what shapes it, and are as many as foretold", "[reward]") {
  const auto parts_under = [](const std::string& more, const std::string& response) {
    const RewardArgs args = terms_of(kTwo + more);
    const auto result = make_reward(args, 10, "")->score(query_of(response, "x"));
    double sum = 0;
    for (const auto& [weight, reward] : result.parts) sum += weight * reward;
    CHECK(sum == Approx(result.reward));
    CHECK(std::ssize(result.parts) == num_reward_parts(args));
    return result.parts;
  };
  using Parts = std::vector<RewardPart>;
  CHECK(parts_under("", "X") == Parts{{2, 1}, {-0.5, 0}});
  CHECK(parts_under("format_pattern: y\nformat_reward: 0.25\n", "xy") == Parts{{2, 0}, {-0.5, 1}, {1, 0.25}});
  CHECK(parts_under("format_pattern: y\nformat_reward: 0.25\n", "x") == Parts{{2, 1}, {-0.5, 1}, {1, 0}});
  CHECK(parts_under("format_pattern: y\n", "x") == Parts{{2, 0}, {-0.5, 0}});
  CHECK(parts_under("reward_type: hard\n", "x") == Parts{{1, 1}});
  const auto shaped = parts_under(
      "response_length_penalty_coef: 0.5\nrepetition_penalty: {max_penalty: -1, ngram_size: 1}\n"
      "overlong_buffer: {enable: true, len: 5}\n",
      "x x");
  REQUIRE(shaped.size() == 5);
  CHECK(shaped[4] == RewardPart{1, -0.5});
  const auto alone = make_reward(terms_of("{type: exact_match}"), 0, "")->score(query_of("x", "x"));
  CHECK(alone.parts == Parts{{1, 1}});
}

TEST_CASE("recorded parts are read as they were, and what is no list of them is refused", "[reward]") {
  const std::vector<RewardPart> parts = {{2, 0.5}, {-1, 3}};
  CHECK(reward_parts({{"parts", parts_json(parts)}}, 7) == parts);
  CHECK(reward_parts(Json::object(), 7) == std::vector<RewardPart>{{1, 7}});
  for (const char* wrong : {"5", "[5]", "[[1]]", "[[1, \"a\"]]", "{\"a\": [1, 2]}"}) {
    const Json detail{{"parts", parse_json(wrong, "f")}};
    CHECK_THROWS_WITH(reward_parts(detail, 0), Catch::Contains("reward_detail.parts = ") &&
                                                   Catch::Contains("must be a list of [weight, reward]"));
  }
}

}  // namespace roll
