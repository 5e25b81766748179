#include "step/redistribution.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/random.h"
#include "dist/local_ranks.h"
#include "dist/single.h"

namespace roll {
namespace {

const std::vector<int64_t> kLengths = {3, 1, 4, 1, 5, 9, 2, 6};

/// Two columns over these sequences: each token says which one it is, whose, and in which column.
std::vector<at::Tensor> configured_columns(const std::vector<int64_t>& sequences) {
  std::vector<int32_t> ids;
  std::vector<float> numbers;
  for (const int64_t s : sequences)
    for (int64_t t = 0; t < kLengths[s]; ++t) {
      ids.push_back(static_cast<int32_t>(100 * s + t));
      numbers.push_back(static_cast<float>(-100 * s - t));
    }
  return {at::tensor(ids, at::kInt), at::tensor(numbers, at::kFloat)};
}

/// Since the last call, where a token has 4 bytes.
int64_t tokens_sent(Communicator& ranks) {
  int64_t bytes = 0;
  for (const auto& [name, count] : ranks.traffic().take()) bytes += count.bytes;
  return bytes / 4;
}

std::string bring_and_compare(const Distribution& from, const Distribution& to, Communicator& ranks) {
  const std::vector<int64_t>& wanted = to.rank_share(ranks.rank());
  const std::vector<int64_t>& local = from.rank_share(ranks.rank());
  int64_t missing = 0;  // tokens that are not here yet
  for (const int64_t s : wanted) missing += std::ranges::find(local, s) == local.end() ? kLengths[s] : 0;
  ranks.traffic().take();
  const auto redistributed = redistribute(configured_columns(local), kLengths, from, to, ranks, "columns");
  const int64_t sent = tokens_sent(ranks);
  if (ranks.all_reduce_sum(sent, "sent") != 2 * ranks.all_reduce_sum(missing, "missing"))
    return fmt::format("{} tokens sent; ", sent);
  const auto expected = configured_columns(to.rank_share(ranks.rank()));
  return at::equal(redistributed[0], expected[0]) && at::equal(redistributed[1], expected[1]) ? "" : "other columns; ";
}

/// Where all sequences were sampled, one by one; where groups of two train; everything on one rank.
const Distribution kSampled{{{0}, {1}, {2}, {3}}, {{0, 4}, {1, 5}, {}, {2, 3, 6, 7}}};
const Distribution kTrained{{{0, 1}, {2, 3}}, {{7, 0, 2}, {6, 5, 3, 1, 4}}};
const Distribution kSome{{{3}}, {{5, 2}}};

}  // namespace

TEST_CASE("sequences get from where they are to where they are wanted, in the order that is wanted", "[train][dist]") {
  const auto said = test::run_local_ranks(4, [](Communicator& ranks) {
    std::string text;
    for (const auto& from : {kSampled, kTrained})
      for (const auto& to : {kSampled, kTrained, kSome}) text += bring_and_compare(from, to, ranks);
    return text;
  });
  CHECK(said == std::vector<std::string>(4));
}

TEST_CASE("a group's ranks take turns in sending, and a rank keeps what it has", "[train][dist]") {
  const auto said = test::run_local_ranks(4, [](Communicator& ranks) {
    // From {0, 1} and {2, 3} to ranks 2 and 3, which have the second share already.
    const Distribution to{{{2}, {3}}, {{0, 5}, {7}}};
    const auto ids = configured_columns(kTrained.rank_share(ranks.rank()))[0];
    ranks.traffic().take();
    redistribute({ids}, kLengths, kTrained, to, ranks, "ids");
    return std::to_string(tokens_sent(ranks));
  });
  CHECK(said == std::vector<std::string>{"3", "6", "0", "0"});
}

TEST_CASE("a sequence that nobody has is an error where it is wanted", "[train]") {
  const auto alone = make_single_communicator();
  const Distribution none{{{0}}, {{1}}}, all{{{0}}, {{0, 1}}};
  CHECK_THROWS_AS(redistribute(configured_columns({1}), kLengths, none, all, *alone, "columns"), Bug);
  CHECK_THROWS_AS(redistribute(configured_columns({1}), kLengths, all, none, *alone, "columns"),
                  Bug);  // too few tokens
}

TEST_CASE("an experience arrives with all that is known of it, also on ranks that had nothing", "[train][dist]") {
  const auto said = test::run_local_ranks(2, [](Communicator& ranks) {
    Experience whole = make_experience(
        {{.prompt_ids = {1, 2}, .response_ids = {3}, .score = 1},
         {.prompt_ids = {4}, .response_ids = {5, 6, 7}, .sequence_index = 1, .score = 2, .is_judged = false}});
    whole.advantages = at::arange(7, at::kFloat);
    whole.tokens.routed_experts = at::arange(21, at::kShort).view({7, 3});
    whole.masks["final_response_mask"] = at::arange(7, at::kFloat) * 2;
    const StepFacts facts = step_facts(whole);
    const Distribution from{{{0}}, {{0, 1}}}, to{{{1}}, {{1, 0}}};
    Experience none = make_experience(facts, {}, at::empty({0}, at::kLong));
    none.tokens.routed_experts = at::empty({0, 3}, at::kShort);
    const Experience there = redistribute(ranks.is_first() ? whole : none, facts, from, to, ranks);
    if (ranks.is_first())
      return std::string(there.num_sequences() == 0 && there.advantages.defined() ? "" : "not empty");
    const Experience expected = select(whole, {1, 0});
    const bool same = at::equal(there.tokens.ids, expected.tokens.ids) &&
                      at::equal(there.tokens.positions, expected.tokens.positions) &&
                      at::equal(there.tokens.routed_experts, expected.tokens.routed_experts) &&
                      at::equal(there.response_mask(), expected.response_mask()) &&
                      at::equal(there.final_response_mask(), expected.final_response_mask()) &&
                      at::equal(there.advantages, expected.advantages) && !there.values.defined() &&
                      there.responses == expected.responses && there.sequence_index == expected.sequence_index;
    return std::string(same ? "" : "another experience");
  });
  CHECK(said == std::vector<std::string>(2));
}

}  // namespace roll
