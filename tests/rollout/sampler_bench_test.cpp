#include "rollout/sampler_bench.h"

#include <catch2/catch.hpp>

#include "error_of.h"
#include "rollout/fake_model.h"

namespace roll {

namespace {

const auto kNever = [] { return false; };

}  // namespace

TEST_CASE("a benchmark computes every prompt token, and measures steps in which all draw", "[rollout]") {
  const int64_t depth = GENERATE(0, 1);
  FakeModel model({.num_slots = 6, .max_length = 60, .vocab_size = 1000, .max_rows = 16, .depth = depth});
  PagePool pages(model.num_pages(), model.page_size());
  for (const int64_t batch : {1, 6}) {
    const BenchShape shape{
        .batch = batch, .prompt_tokens = 20, .new_tokens = 40, .round = static_cast<uint32_t>(batch)};
    const BenchResult result = bench_sampler(model, pages, {}, shape, kNever);
    CHECK(result.prefill_tokens == batch * 20);
    CHECK(result.decode_tokens == batch * result.decode_steps);
    // Of 40 tokens the first comes with the prompt; six prompts of which a page is left to compute start within two
    // steps.
    CHECK(result.decode_steps <= 39);
    CHECK(result.decode_steps >= 36);
    // From the second token on (or a bit later), which sees 21 tokens, to the last, which sees 59.
    CHECK(result.decode_length >= 40);
    CHECK(result.decode_length <= 42);
    CHECK(result.counts.shared_tokens == batch * 16);
    CHECK(result.counts.evictions == 0);
    CHECK(result.counts.num_slots == 6);
  }
}

TEST_CASE("a benchmark goes on after end tokens, and with the parameters given", "[rollout]") {
  FakeModel model({.num_slots = 2, .max_length = 60});
  PagePool pages(model.num_pages(), model.page_size());
  SamplingParams params;
  params.eos_ids = {0, 1, 2, 3, 4, 5};
  params.max_running_requests = 2;
  const BenchResult result = bench_sampler(model, pages, params, {2, 20, 40, 0}, kNever);
  CHECK(result.decode_steps >= 38);
  CHECK(result.counts.num_slots == 2);
}

TEST_CASE("a benchmark without a step in which all draw says so", "[rollout]") {
  FakeModel model({.num_slots = 6, .max_length = 60, .vocab_size = 1000, .max_rows = 6});
  PagePool pages(model.num_pages(), model.page_size());
  CHECK_THAT(testing::error_of([&] {
               bench_sampler(model, pages, {}, {6, 20, 2, 0}, kNever);
             }),
             Catch::Contains("2 new tokens: the first of 6 sequences ends before the last begins"));
  CHECK_NOTHROW(bench_sampler(model, pages, {}, {6, 20, 2, 0}, [] { return true; }));
}

}  // namespace roll
