#include "step/step_index.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "dist/thread_ranks.h"

namespace roll {

namespace {

/// A response of which every fact is another number.
RolloutRecord response(int64_t group, int64_t sample, bool is_baseline = false) {
  const auto n = static_cast<double>(3 * group + sample);
  const std::vector<int64_t> prompt(static_cast<size_t>(group + 1), 100 + group),
      tokens(static_cast<size_t>(sample + 1), 10 * group + sample);
  return {.domain = group == 1 ? "code" : "maths",
          .group_index = group,
          .sample_index = sample,
          .is_baseline = is_baseline,
          .prompt_ids = prompt,
          .response_ids = tokens,
          .log_probs = std::vector<float>(tokens.size(), static_cast<float>(-1 - n)),
          .finish_reason = sample == 1 ? "length" : "stop",
          .is_judged = group != 2 || sample != 0,
          .score = 100 + n,
          .reward = 200 + n,
          .difficulty = 300 + n};
}

/// Groups of two responses and a baseline: those with a number of `parts` that this rank has, in no order.
std::vector<RolloutRecord> part_of(const std::vector<std::vector<int64_t>>& parts, int rank, int64_t group_size = 2) {
  std::vector<RolloutRecord> local;
  for (const int64_t i : parts[static_cast<size_t>(rank)]) local.push_back(response(i / 3, i % 3, i % 3 == group_size));
  return local;
}

std::string text_of(const StepFacts& facts) {
  std::string text;
  for (const ResponseFacts& r : facts.responses)
    text += fmt::format("{} {} {}+{} {} {} {} {:d}{:d} {}\n", r.group, r.domain, r.prompt_length, r.response_length,
                        r.score, r.reward, r.difficulty, r.is_truncated, r.is_judged,
                        r.baseline ? fmt::to_string(*r.baseline) : "none");
  return text;
}

const std::vector<std::vector<int64_t>> kParts = {{7, 0, 2, 4}, {}, {8, 6, 5, 3, 1}};

}  // namespace

TEST_CASE("all ranks know every fact of all responses, wherever they were sampled", "[train][dist]") {
  const std::string facts =
      "0 maths 1+1 100 200 300 01 202\n0 maths 1+2 101 201 301 11 202\n"
      "1 code 2+1 103 203 303 01 205\n1 code 2+2 104 204 304 11 205\n"
      "2 maths 3+1 106 206 306 00 208\n2 maths 3+2 107 207 307 11 208\n";
  run_thread_ranks(3, [&](Communicator& ranks) {
    std::vector<RolloutRecord> local = part_of(kParts, ranks.rank());
    const StepIndex step = make_step_index(local, ranks);
    CHECK(text_of(step.facts) == facts);
    CHECK(step.holders.ranks == std::vector<std::vector<int>>{{0}, {1}, {2}});
    CHECK(step.holders.shares == Partition{{0, 3, 5}, {}, {1, 2, 4}});
  });
}

TEST_CASE("parts of rewards come with the facts where they are wanted", "[train][dist]") {
  run_thread_ranks(3, [&](Communicator& ranks) {
    std::vector<RolloutRecord> local = part_of(kParts, ranks.rank());
    for (RolloutRecord& r : local)
      if (r.sample_index == 1) r.reward_detail["parts"] = parts_json({{2, r.score}, {-1, 5}});
    CHECK(make_step_index(local, ranks).facts.responses[2].parts.empty());
    const auto parts =
        column(make_step_index(local, ranks, /*with_parts=*/true).facts.responses, &ResponseFacts::parts);
    REQUIRE(parts.size() == 6);
    CHECK((parts[2] == std::vector<RewardPart>{{1, 203}}));
    CHECK((parts[3] == std::vector<RewardPart>{{2, 104}, {-1, 5}}));
    CHECK(parts[4].empty());  // nobody judged it
  });
}

TEST_CASE("a rank's responses become its part of the step, with the sampler's log-probs where they belong", "[train]") {
  run_thread_ranks(3, [&](Communicator& ranks) {
    std::vector<RolloutRecord> local = part_of(kParts, ranks.rank());
    const StepIndex step = make_step_index(local, ranks);
    const Experience own = make_experience(local, step.facts, step.holders.rank_share(ranks.rank()));
    CHECK(own.sequence_index == step.holders.rank_share(ranks.rank()));
    if (ranks.rank() == 1) CHECK(own.tokens.num_tokens() == 0);
    if (ranks.rank() == 2) CHECK(column(own.responses, &ResponseFacts::score) == std::vector<double>{101, 103, 106});
    if (ranks.rank() > 0) return;
    CHECK(at::equal(own.tokens.ids, at::tensor({100, 0, 101, 101, 11, 11, 102, 102, 102, 21, 21}, at::kLong)));
    CHECK(at::equal(own.sampler_log_probs, at::tensor({-1, 0, 0, -5, -5, 0, 0, 0, -8, -8, 0}, at::kFloat)));
    CHECK(at::equal(own.response_mask(), at::tensor({1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0}, at::kFloat)));
  });
}

TEST_CASE("experts come with a rank's responses, of tokens without them none", "[train]") {
  run_thread_ranks(1, [&](Communicator& ranks) {
    std::vector<RolloutRecord> local = part_of({{0, 3}}, ranks.rank());
    const StepIndex step = make_step_index(local, ranks);
    const auto own = [&](int64_t width) {
      return make_experience(local, step.facts, {0, 1}, width).tokens.routed_experts;
    };
    CHECK_FALSE(own(0).defined());
    for (int64_t i = 0; i < 2 * local[1].num_routed(); ++i) local[1].routed_experts.push_back(static_cast<int16_t>(i));
    const at::Tensor found = own(2), known = at::arange(2 * local[1].num_routed(), at::kShort).view({-1, 2});
    const int64_t first = local[0].num_routed() + 1;
    CHECK(found.size(0) == first + known.size(0) + 1);
    CHECK(at::equal(found.narrow(0, first, known.size(0)), known));
    CHECK(found.narrow(0, 0, first).eq(-1).all().item<bool>());
    CHECK(found[-1].eq(-1).all().item<bool>());
  });
}

TEST_CASE("a baseline that nobody could judge takes its group out, and no other", "[train][dist]") {
  run_thread_ranks(2, [&](Communicator& ranks) {
    // The baseline of group 1 is on another rank than one of the group's responses.
    std::vector<RolloutRecord> local = part_of({{0, 1, 2, 3, 5}, {4, 6, 7, 8}}, ranks.rank());
    for (RolloutRecord& record : local)
      if (record.is_baseline && record.group_index == 1) record.is_judged = false;
    const StepFacts facts = make_step_index(local, ranks).facts;
    CHECK(column(facts.responses, &ResponseFacts::is_judged) == std::vector<bool>{1, 1, 0, 0, 0, 1});
  });
}

TEST_CASE("a step without baselines has none, and one with some of them is a bug", "[train]") {
  run_thread_ranks(2, [&](Communicator& ranks) {
    std::vector<RolloutRecord> local = part_of({{0, 3}, {1, 4}}, ranks.rank());
    CHECK_FALSE(make_step_index(local, ranks).facts.responses[0].baseline);
  });
  const auto one_baseline = [](Communicator& ranks) {
    std::vector<RolloutRecord> local = part_of({{0, 3}, {1, 4, 5}}, ranks.rank());
    make_step_index(local, ranks);
  };
  CHECK_THROWS_AS(run_thread_ranks(2, one_baseline), Bug);
}

TEST_CASE("a response that two ranks have is refused by both their numbers", "[train][dist]") {
  const auto twice = [](Communicator& ranks) {
    std::vector<RolloutRecord> local = part_of({{3, 0}, {1}, {4, 0}}, ranks.rank());
    make_step_index(local, ranks);
  };
  CHECK_THROWS_WITH(run_thread_ranks(3, twice), "response 0 of group 0 exists twice: on ranks 0 and 2");
  CHECK_THROWS_AS(run_thread_ranks(3, twice), UserError);
}

}  // namespace roll
