#include "collect/sample_scheduler.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "rollout/fake_model.h"

namespace roll {

namespace {

using Queues = std::vector<int64_t>;

/// "0.1" for the second sample of the first prompt.
std::string text_of(const std::vector<SampleIndex>& samples) {
  std::string text;
  for (const auto& [prompt, number] : samples) text += fmt::format("{}.{} ", prompt, number);
  return text;
}

}  // namespace

TEST_CASE("prompts are assigned whole while there is one for every group, then sample by sample", "[train]") {
  SampleScheduler dealer(2, 2);
  for (int64_t prompt = 0; prompt < 5; ++prompt) dealer.add(prompt, {});
  Queues queues = {0, 0};
  const SampleAssignment deal = dealer.assign(queues);
  CHECK(text_of(deal[0]) == "0.0 0.1 2.0 2.1 4.0 ");
  CHECK(text_of(deal[1]) == "1.0 1.1 3.0 3.1 4.1 ");
  CHECK(queues == Queues{5, 5});
  CHECK(text_of(dealer.assign(queues)[0]).empty());
}

TEST_CASE("the shortest queue is assigned to, and a free slot is shorter than none", "[train]") {
  SampleScheduler dealer(3, 1);
  for (int64_t prompt = 0; prompt < 3; ++prompt) dealer.add(prompt, {});
  dealer.put_back({.prompt = 7, .number = 3});
  Queues queues = {4, -2, 0};
  const SampleAssignment deal = dealer.assign(queues);
  CHECK(text_of(deal[0]).empty());
  CHECK(text_of(deal[1]) == "0.0 1.0 2.0 ");
  CHECK(text_of(deal[2]) == "7.3 ");
}

TEST_CASE("the longest start first, and what nothing is known of before them", "[train]") {
  SampleScheduler dealer(1, 1);
  dealer.add(0, 5), dealer.add(1, {}), dealer.add(2, 9), dealer.add(3, {}), dealer.add(4, 9);
  Queues queues = {0};
  CHECK(text_of(dealer.assign(queues)[0]) == "1.0 3.0 2.0 4.0 0.0 ");
}

TEST_CASE("what runs ahead starts behind what is lacking", "[train]") {
  SampleScheduler dealer(1, 1);
  dealer.add(0, 5), dealer.add(1, {}, true), dealer.add(2, 9, true), dealer.add(3, 7);
  Queues queues = {0};
  CHECK(text_of(dealer.assign(queues)[0]) == "3.0 0.0 1.0 2.0 ");
}

TEST_CASE("what is dropped is not assigned", "[train]") {
  SampleScheduler dealer(1, 2);
  dealer.add(0, {}), dealer.add(1, {});
  dealer.put_back({.prompt = 2, .number = 0}), dealer.put_back({.prompt = 3, .number = 1});
  dealer.drop(0), dealer.drop(3);
  Queues queues = {0};
  CHECK(text_of(dealer.assign(queues)[0]) == "1.0 1.1 2.0 ");
}

TEST_CASE("groups put back their part for those that have free slots and nothing that waits", "[train]") {
  CHECK(num_to_put_back(Queues{10, 3, 0}, 0) == 0);  // nobody is hungry
  const Queues one_hungry = {10, 1, -2};
  CHECK(num_to_put_back(one_hungry, 0) == 4);
  CHECK(num_to_put_back(one_hungry, 1) == 1);
  CHECK(num_to_put_back(one_hungry, 2) == 0);
}

namespace {

/// Steps until all of `lengths` are sampled on `num_slots`, assigned to one group by what is said of them.
int64_t steps_of(const std::vector<int64_t>& lengths, int64_t num_slots, bool knows_lengths) {
  SampleScheduler dealer(1, 1);
  for (int64_t i = 0; i < std::ssize(lengths); ++i)
    dealer.add(i, knows_lengths ? std::optional<double>(lengths[i]) : std::nullopt);
  Queues queues = {0};
  std::vector<GenerationRequest> requests;
  SamplingParams params;
  params.generating.max_new_tokens = 1;
  params.ignore_eos = true;
  params.max_running_requests = 1000;
  const SampleAssignment deal = dealer.assign(queues);
  for (const SampleIndex& sample : deal[0]) {
    SamplingSettings generating;
    generating.max_new_tokens = lengths[sample.prompt];
    requests.push_back(
        {.prompt_ids = {1, 2}, .sequence_id = static_cast<uint64_t>(sample.prompt), .generating = generating});
  }
  FakeModel model({.num_slots = num_slots, .max_length = 600});
  generate_with(model, requests, params);
  return model.num_steps;
}

}  // namespace

TEST_CASE("with known lengths the tail is shorter: as long as the longest response, or as the slots need", "[train]") {
  std::vector<int64_t> lengths;
  int64_t total = 0;
  for (uint32_t i = 0; i < 64; ++i) {  // lognormal, the longest one last
    lengths.push_back(std::clamp<int64_t>(
        static_cast<int64_t>(40 * std::exp(random_normal({.seed = 5, .purpose = Purpose::kInit, .position = i}))), 4,
        300));
    total += lengths.back();
  }
  std::ranges::swap(lengths.back(), *std::ranges::max_element(lengths));
  const int64_t known = steps_of(lengths, 8, true), unknown = steps_of(lengths, 8, false);
  CHECK(known < std::max(lengths.back(), total / 8) * 1.1);
  CHECK(unknown > known * 1.3);
}

}  // namespace roll
