#include "rollout/settings.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "base/error.h"

namespace roll {

namespace {

GeneratingArgs given() {
  GeneratingArgs args;
  args.max_new_tokens = 5;
  return args;
}

/// What is said of the keys after `change` had its way with them.
template <class F>
std::string refusal_of(F change) {
  GeneratingArgs args = given();
  change(args);
  try {
    sampling_settings(args);
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("impossible sampling keys are refused by name", "[rollout]") {
  CHECK(refusal_of([](auto&) {}) == "no error");
  CHECK_THAT(refusal_of([](auto& a) { a.max_new_tokens = 0; }), Catch::Contains("max_new_tokens = 0"));
  CHECK_THAT(refusal_of([](auto& a) { a.max_new_tokens.reset(); }), Catch::Contains("max_new_tokens: is not set"));
  CHECK_THAT(refusal_of([](auto& a) { a.temperature = -1; }), Catch::Contains("temperature = -1"));
  CHECK_THAT(refusal_of([](auto& a) { a.temperature = NAN; }), Catch::Contains("temperature = nan"));
  CHECK_THAT(refusal_of([](auto& a) { a.temperature = 1e-9; }), Catch::Contains("temperature = 1e-09"));
  CHECK_THAT(refusal_of([](auto& a) { a.top_p = 0; }), Catch::Contains("top_p = 0"));
  CHECK_THAT(refusal_of([](auto& a) { a.top_p = 1.5; }), Catch::Contains("top_p = 1.5"));
  CHECK_THAT(refusal_of([](auto& a) { a.top_k = -2; }), Catch::Contains("top_k = -2"));
  CHECK_THAT(refusal_of([](auto& a) { a.min_p = 2; }), Catch::Contains("min_p = 2"));
  CHECK_THAT(refusal_of([](auto& a) { a.repetition_penalty = 0; }), Catch::Contains("repetition_penalty = 0"));
  CHECK_THAT(refusal_of([](auto& a) { a.presence_penalty = INFINITY; }), Catch::Contains("presence_penalty"));
  CHECK_THAT(refusal_of([](auto& a) { a.frequency_penalty = NAN; }), Catch::Contains("frequency_penalty"));
  CHECK_THAT(refusal_of([](auto& a) { a.stop_strings = {"a", ""}; }), Catch::Contains("empty string"));
}

TEST_CASE("sampling keys are resolved in one place", "[rollout]") {
  GeneratingArgs args = given();
  args.temperature = 0.7;
  args.top_k = -1;
  args.min_p = 0.1;
  args.stop_strings = {"x"};
  args.repetition_penalty = 1.1;
  args.presence_penalty = 0.2;
  args.frequency_penalty = 0.3;
  args.top_p = 0.9;
  args.include_stop_str_in_output = false;
  args.skip_special_tokens = false;
  const SamplingSettings settings = sampling_settings(args);
  CHECK(settings.max_new_tokens == 5);
  CHECK(settings.temperature == 0.7);
  CHECK(settings.top_k == 0);
  CHECK(settings.top_p == 0.9);
  CHECK(settings.min_p == 0.1);
  CHECK(settings.repetition_penalty == 1.1);
  CHECK(settings.presence_penalty == 0.2);
  CHECK(settings.frequency_penalty == 0.3);
  CHECK(settings.stop_strings == std::vector<std::string>{"x"});
  CHECK_FALSE(settings.include_stop_str_in_output);
  CHECK_FALSE(settings.skip_special_tokens);

  args.do_sample = false;
  CHECK(sampling_settings(args).temperature == 0);
}

TEST_CASE("the cache is as the strategy has it", "[rollout]") {
  StrategyConfig strategy;
  CHECK(cache_settings(strategy).page_size == 16);
  CHECK(cache_settings(strategy).max_pages == 0);
  CHECK(cache_settings(strategy).memory_share == 0.8);
  strategy.block_size = 32;
  strategy.num_gpu_blocks_override = 7;
  strategy.mem_fraction_static = 0.5;
  CHECK(cache_settings(strategy).page_size == 32);
  CHECK(cache_settings(strategy).max_pages == 7);
  CHECK(cache_settings(strategy).memory_share == 0.5);
}

}  // namespace roll
