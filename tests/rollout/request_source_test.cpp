#include <catch2/catch.hpp>
#include <deque>
#include <functional>
#include <map>

#include "rollout/fake_model.h"
#include "rollout/requests.h"

namespace roll {

namespace {

/// Gives changes at their times; the last one says that it is.
struct Script : RequestSource {
  struct At {
    int64_t step;
    Change change;
  };
  std::deque<At> changes;
  int64_t step = 0, num_idle = 0;
  std::function<void(const Queue&)> look = [](const Queue&) {};

  Change next(const Queue& queue) override {
    look(queue);
    num_idle += queue.is_idle();
    if (++step < changes.front().step) return {};
    Change change = std::move(changes.front().change);
    changes.pop_front();
    change.is_last = changes.empty();
    return change;
  }
};

/// The responses that were heard of, by request. `given_back`: what serve() returns.
std::map<int64_t, Generation> serve_with(FakeModel& model, Script& script, const SamplingParams& params,
                                         SamplerCounts* counts = nullptr,
                                         std::vector<Generation>* given_back = nullptr) {
  PagePool pages(model.num_pages(), model.page_size());
  std::map<int64_t, Generation> done;
  auto all = serve(model, pages, decode_letters, script, params, [&](int64_t i, const Generation& g) { done[i] = g; },
                   {.counts = counts});
  if (given_back) *given_back = std::move(all);
  CHECK(pages.num_free() == pages.num_pages());
  return done;
}

}  // namespace

TEST_CASE("requests that come while others run get what they would get alone", "[rollout]") {
  const SamplingParams params = params_of(20);
  FakeModel model({.num_slots = 3, .vocab_size = kVocab, .depth = GENERATE(0, 2)});
  const auto requests = make_requests(12, 1);
  Script script;
  for (int64_t i = 0; i < 12; i += 3)
    script.changes.push_back({i < 9 ? 7 * i : 500, {.requests = {&requests[i], &requests[i] + 3}}});
  const auto done = serve_with(model, script, params);
  CHECK(script.num_idle > 100);  // it is asked on while it has nothing to say
  REQUIRE(done.size() == 12);
  for (const auto& [i, generation] : done) CHECK(generation.ids == alone(model, requests[i], params).ids);
}

TEST_CASE("a cancelled request is not heard of, its slot and pages serve others at once", "[rollout]") {
  SamplingParams params = params_of(20);
  params.ignore_eos = true;
  FakeModel model({.num_slots = 2, .vocab_size = kVocab, .depth = GENERATE(0, 2)});
  auto requests = make_requests(4, 1);
  Script script;
  script.changes.push_back({1, {.requests = requests}});
  script.changes.push_back({5, {.cancelled = {0, 3}}});  // one that runs, one that waits
  std::vector<int64_t> running;
  script.look = [&](const RequestSource::Queue& queue) { running.push_back(queue.num_running); };
  script.changes.push_back({6, {}});
  SamplerCounts counts;
  const auto done = serve_with(model, script, params, &counts);
  CHECK(running == std::vector<int64_t>{0, 2, 2, 2, 2, 2});
  REQUIRE(done.size() == 2);
  for (const auto& [i, generation] : done) {
    const auto expected = alone(model, requests[i], params).ids;
    CHECK(std::equal(expected.begin(), expected.end(), generation.ids.begin()));
  }
  CHECK(model.num_steps == 4 + 20);  // the third has the first one's slot from the fifth step on
  CHECK(counts.drawn < 2 * 20 + 5);
}

TEST_CASE("a cancelled request may come again", "[rollout]") {
  const SamplingParams params = params_of(20);
  FakeModel model({.num_slots = 2, .vocab_size = kVocab});
  const auto requests = make_requests(1, 1);
  Script script;
  script.changes.push_back({1, {.requests = requests}});
  script.changes.push_back({4, {.cancelled = {0}, .requests = requests}});
  const auto done = serve_with(model, script, params);
  REQUIRE(done.size() == 1);
  CHECK(done.at(1).ids == alone(model, requests[0], params).ids);
  script.changes = {{1, {.requests = {requests[0], requests[0]}}}};
  CHECK_THROWS_AS(serve_with(model, script, params), Bug);
}

TEST_CASE("a pause gives back what was begun, and another sampler goes on with it to the same tokens", "[rollout]") {
  const SamplingParams params = params_of(20);
  const int64_t depth = GENERATE(0, 2), paused_at = GENERATE(2, 6, 11, 16);
  const auto requests = make_requests(9, 1);
  FakeModel model({.num_slots = 3, .vocab_size = kVocab, .depth = depth});
  Script script;
  script.changes.push_back({1, {.requests = requests}});
  script.changes.push_back({paused_at, {.pauses = true}});
  script.changes.push_back({1, {}});  // which is not asked for
  std::vector<Generation> given_back;
  auto done = serve_with(model, script, params, nullptr, &given_back);
  CHECK(script.step == paused_at);
  REQUIRE(given_back.size() == requests.size());

  std::vector<int64_t> unfinished;
  Script rest;
  rest.changes.push_back({1, {}});
  int64_t num_begun = 0;
  for (int64_t i = 0; i < std::ssize(requests); ++i) {
    CHECK((given_back[i].finish_reason == FinishReason::kAbort) == !done.contains(i));
    if (done.contains(i)) continue;
    unfinished.push_back(i);
    num_begun += given_back[i].ids.empty() ? 0 : 1;
    rest.changes[0].change.requests.push_back(requests[i]);
    rest.changes[0].change.requests.back().begun = given_back[i];
  }
  CAPTURE(depth, paused_at);
  CHECK(num_begun > 0);
  CHECK(num_begun <= 3);
  FakeModel other({.num_slots = 2, .vocab_size = kVocab, .depth = depth});
  SamplerCounts counts;
  for (auto& [i, generation] : serve_with(other, rest, params, &counts)) done[unfinished.at(i)] = generation;
  REQUIRE(done.size() == requests.size());
  int64_t num_tokens = 0, num_before = 0;
  for (int64_t i = 0; i < std::ssize(requests); ++i) {
    const Generation expected = alone(model, requests[i], params);
    CHECK(done.at(i).ids == expected.ids);
    CHECK(done.at(i).log_probs == expected.log_probs);
    num_tokens += std::ssize(expected.ids);
    num_before += std::ssize(given_back[i].ids);
  }
  CHECK(counts.drawn == num_tokens - num_before);  // no token is drawn twice
}

TEST_CASE("those that share a prompt go on with it when the one that computes it is cancelled", "[rollout]") {
  SamplingParams params = params_of(12);
  params.ignore_eos = true;  // whoever is cancelled still runs
  const int64_t length = GENERATE(12, 15), max_rows = GENERATE(3, 7), cancelled_at = GENERATE(2, 3, 4, 5, 6);
  FakeModel model({.num_slots = 4, .vocab_size = kVocab, .max_rows = max_rows});  // the prompt takes several steps
  std::vector<GenerationRequest> requests;
  for (uint64_t i = 0; i < 3; ++i) {
    requests.push_back({.sequence_id = i});
    for (int64_t k = 0; k < length; ++k) requests.back().prompt_ids.push_back((3 * k) % kVocab);
  }
  Script script;
  script.changes.push_back({1, {.requests = requests}});
  script.changes.push_back({cancelled_at, {.cancelled = {0}}});
  const auto done = serve_with(model, script, params);
  CAPTURE(length, max_rows, cancelled_at);
  CHECK(model.prompt_tokens < length + 4);  // at most the tail of the prompt's last page again
  REQUIRE(done.size() == 2);
  for (const auto& [i, generation] : done) {
    const auto expected = alone(model, requests[i], params).ids;
    CHECK(std::equal(expected.begin(), expected.end(), generation.ids.begin()));
  }
}

}  // namespace roll
