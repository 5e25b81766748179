#include "reward/shaped.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "config/load.h"
#include "error_of.h"
#include "reward/queries.h"

namespace roll {

using testing::error_of;

namespace {

/// A reward of 1 for "x", with these keys.
RewardArgs with_keys(const std::string& yaml) {
  return load_yaml<RewardArgs>("type: exact_match\n" + yaml, "f").config;
}

RewardResult shaped_score(const std::string& yaml, const std::string& response, int64_t tokens = 0) {
  return make_reward(with_keys(yaml), 100, "rewards.x.")->score(query_of(response, "x", tokens));
}

std::string complaint_about(const std::string& yaml, int64_t response_length = 100) {
  return error_of([&] { make_reward(with_keys(yaml), response_length, "rewards.x."); });
}

}  // namespace

TEST_CASE("the overlong penalty rises over the last tokens and leaves the score alone", "[reward]") {
  const std::string keys = "overlong_buffer: {enable: true, len: 20, penalty_factor: 0.5}";
  const auto at = [&](int64_t tokens) { return shaped_score(keys, "x", tokens); };
  CHECK(at(80).reward == 1);
  CHECK(at(80).detail["overlong"] == 0);
  CHECK(at(90).reward == 0.75);
  CHECK(at(90).detail["overlong"] == -0.25);
  CHECK(at(90).score == 1);
  CHECK(at(100).reward == 0.5);
  CHECK(at(120).reward == 0.5);
  CHECK_FALSE(shaped_score("overlong_buffer: {len: 20}", "x", 100).detail.contains("overlong"));
}

TEST_CASE("the overlong penalty needs to know over how many tokens it rises", "[reward]") {
  CHECK_THAT(complaint_about("overlong_buffer: {enable: true}"),
             Catch::Contains("rewards.x.overlong_buffer.len: missing"));
  CHECK_THAT(complaint_about("overlong_buffer: {enable: true, len: 101}"),
             Catch::Contains("overlong_buffer.len = 101: must be at most response_length (100)"));
  CHECK_THAT(complaint_about("overlong_buffer: {enable: true, len: 10}", 0), Catch::Contains("set response_length"));
  CHECK(complaint_about("overlong_buffer: {enable: true, len: 100}") == "no error");
  CHECK_THAT(complaint_about("overlong_buffer: {penalty_factor: -1}"), Catch::Contains("penalty_factor = -1"));
}

TEST_CASE("repeated n-grams of words cost their share", "[reward]") {
  CHECK(repeated_share("a b c d", 3) == 0);
  CHECK(repeated_share("a b  A\nb a b", 2) == Approx(1 - 2.0 / 5));
  CHECK(repeated_share("a a a a", 1) == 0.75);
  CHECK(repeated_share("a a", 3) == 0);
  CHECK(repeated_share("", 1) == 0);
  CHECK(repeated_share("ab c a bc ab c", 2) == Approx(1 - 4.0 / 5));
  const auto result = shaped_score("repetition_penalty: {ngram_size: 1, max_penalty: -0.5}", "y y y y");
  CHECK(result.reward == -0.375);
  CHECK(result.detail["repetition"] == -0.375);
  CHECK(result.score == 0);
  CHECK_FALSE(shaped_score("", "y y y y").detail.contains("repetition"));
  CHECK_THAT(complaint_about("repetition_penalty: {max_penalty: 0.5}"), Catch::Contains("max_penalty = 0.5"));
}

TEST_CASE("ifeval and crossthinkqa take off for repetition unless told otherwise", "[reward]") {
  for (const RewardArgs& args : {args_of(CrossThinkQaArgs()), args_of(IfevalArgs())}) {
    RewardQuery query = query_of("B a a a a a", R"({"func_name": "validate_no_commas"})");
    if (std::holds_alternative<CrossThinkQaArgs>(*args.type)) query.ground_truth = "B";
    const auto result = make_reward(args, 0, "")->score(query);
    CHECK(result.detail["repetition"] == Approx(-0.5 * 2 / 4));
    RewardArgs without = args;
    without.repetition_penalty.max_penalty = 0;
    CHECK_FALSE(make_reward(without, 0, "")->score(query).detail.contains("repetition"));
  }
}

TEST_CASE("format_reward is added where the format matches, and its lack costs nothing", "[reward]") {
  const std::string keys = "format_pattern: ^x\nformat_reward: 0.25";
  CHECK(shaped_score(keys, "x").reward == 1.25);
  CHECK(shaped_score(keys, "xy").reward == 0.25);
  CHECK(shaped_score(keys, " x").reward == 1);
  CHECK(shaped_score(keys, " x").detail["format"] == false);
  CHECK(shaped_score("format_pattern: ^x", " x").reward == 0);
  CHECK_THAT(complaint_about("format_reward: 1"), Catch::Contains("rewards.x.format_reward = 1: needs format_pattern"));
}

TEST_CASE("loose and strict are crossthinkqa's, which has no hard", "[reward]") {
  const auto complaint = [](RewardType type, RewardScale scale) {
    RewardArgs args = args_of(std::move(type));
    args.reward_type = scale;
    return error_of([&] { make_reward(args, 0, "rewards.x."); });
  };
  for (const RewardScale scale : {RewardScale::kLoose, RewardScale::kStrict}) {
    CHECK_THAT(complaint(MathRuleArgs(), scale), Catch::Contains("the type here is math_rule; use soft, or hard"));
    CHECK(complaint(CrossThinkQaArgs(), scale) == "no error");
  }
  CHECK_THAT(complaint(CrossThinkQaArgs(), RewardScale::kHard),
             Catch::Contains("reward_type = hard: type crossthinkqa"));
  CHECK(complaint(GeneralValArgs(), RewardScale::kHard) == "no error");
}

}  // namespace roll
