#include "serve/request_queue.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "error_of.h"
#include "rollout/fake_model.h"
#include "rollout/requests.h"

namespace roll {

namespace {

using Catch::Contains;
using std::chrono::seconds;

/// A queue before a real scheduler over a fake model, on a thread of its own.
class Service {
 public:
  explicit Service(int64_t max_waiting = 100'000)
      : queue(max_waiting), engine_([this] {
          const auto serve = [&](RequestSource& source, const OnGenerated& on_done, const SamplerHooks& hooks) {
            ++num_runs;
            return roll::serve(model, pages_, decode_letters, source, params, on_done, hooks);
          };
          queue.run(serve, [&] { return stops_.load(); });
        }) {}
  ~Service() { stop(); }

  void stop() {
    stops_ = true;
    if (engine_.joinable()) engine_.join();
  }

  FakeModel model{{.num_slots = 3, .vocab_size = kVocab}};
  const SamplingParams params = [] {
    SamplingParams made = params_of(20);
    made.max_length = 60;
    return made;
  }();
  std::atomic<int> num_runs = 0;
  RequestQueue queue;

 private:
  PagePool pages_{model.num_pages(), model.page_size()};
  std::atomic<bool> stops_ = false;
  std::thread engine_;
};

CompletionRequest request_of(std::vector<std::vector<int64_t>> prompts, int64_t n, uint64_t seed) {
  CompletionRequest request{.prompts = std::move(prompts), .num_choices = n, .sampling = {}, .seed = seed};
  request.sampling = params_of(20).generating;
  return request;
}

/// The responses, and how many tokens were heard of beforehand.
std::pair<std::vector<Generation>, size_t> wait_for(PendingAnswer& answer, size_t count) {
  std::vector<Generation> all(count);
  size_t ended = 0, heard = 0;
  while (ended < count)
    for (ChoiceNews& news : answer.take(seconds(20))) {
      heard += news.ids.size();
      CHECK(news.ids.size() == news.log_probs.size());
      if (!news.ended) continue;
      all.at(news.choice) = *news.ended;
      ++ended;
    }
  return {all, heard};
}

Generation expected(const Service& service, const std::vector<int64_t>& prompt, uint64_t choice, uint64_t seed) {
  SamplingParams params = service.params;
  params.seed = seed;
  return alone(service.model, {.prompt_ids = prompt, .sequence_id = choice}, params);
}

}  // namespace

TEST_CASE("a seeded request gets what it would get alone, choice by choice, as often as it asks", "[serve]") {
  Service service;
  const std::vector<std::vector<int64_t>> prompts = {{1, 2, 3}, {4}};
  CompletionRequest request = request_of(prompts, 2, 7);
  request.streams = GENERATE(false, true);
  std::vector<std::shared_ptr<PendingAnswer>> twins;
  for (int i = 0; i < 3; ++i) twins.push_back(service.queue.submit(request));  // beside each other
  for (const auto& twin : twins) {
    const auto [all, heard] = wait_for(*twin, 4);
    size_t drawn = 0;
    for (uint64_t choice = 0; choice < 4; ++choice) {  // its number within its prompt names it
      CHECK(all[choice].ids == expected(service, prompts[choice / 2], choice % 2, 7).ids);
      drawn += all[choice].ids.size();
    }
    CHECK(heard == (request.streams ? drawn : 0));
  }
}

TEST_CASE("a sampler that has answered many is left for a new one, and nobody notices", "[serve]") {
  Service service;
  CompletionRequest quick = request_of({{1}}, 1024, 5);
  quick.sampling.max_new_tokens = 1;
  CompletionRequest slow = request_of({{2, 3}}, 1, 9);
  slow.streams = true;
  for (int round = 0; round < 5; ++round) {
    const auto some = service.queue.submit(quick);
    const auto other = service.queue.submit(slow);
    CHECK(wait_for(*some, 1024).first.back().ids.size() == 1);
    const auto [all, heard] = wait_for(*other, 1);
    CHECK(all[0].ids == expected(service, {2, 3}, 0, 9).ids);
    CHECK(heard == all[0].ids.size());
  }
  CHECK(service.num_runs > 1);
}

TEST_CASE("requests beyond those that may wait are turned away, and one that is taken back frees its place",
          "[serve]") {
  RequestQueue queue(4);  // nobody serves it
  const auto first = queue.submit(request_of({{1}}, 3, 1));
  REQUIRE(first);
  CHECK(queue.submit(request_of({{1}}, 2, 1)) == nullptr);
  CHECK(queue.submit(request_of({{1}}, 1, 1)) != nullptr);
  queue.cancel(first);
  CHECK(queue.submit(request_of({{1}}, 3, 1)) != nullptr);
}

TEST_CASE("a request of more responses than may wait, or of too many bytes, is refused before they are made",
          "[serve]") {
  RequestQueue queue(4000);
  const auto refusal = [&](const CompletionRequest& request) {
    return testing::error_of([&] { queue.submit(request); });
  };
  CHECK_THAT(refusal(request_of({{1}, {2}}, 2001, 1)), Contains("2 prompts x n are 4002 responses; at most 4000"));
  CompletionRequest large = request_of({std::vector<int64_t>(32'000, 1)}, 300, 1);  // 8 bytes each: 73 MB
  CHECK_THAT(refusal(large), Contains("take 73 MB; at most 64"));
  large.num_choices = 150;
  const auto first = queue.submit(large);
  REQUIRE(first);
  CHECK(queue.submit(large) == nullptr);  // together too large
  queue.cancel(first);
  CHECK(queue.submit(large) != nullptr);
  CompletionRequest stops = request_of({{1}}, 1000, 1);
  stops.sampling.stop_strings = {std::string(80'000, 'x')};
  CHECK_THAT(refusal(stops), Contains("take 76 MB"));
  CompletionRequest biases = request_of({{1}}, 1000, 1);
  for (int64_t token = 0; token < 5000; ++token) biases.sampling.logit_bias[token] = 1;
  CHECK_THAT(refusal(biases), Contains("take 76 MB"));
}

TEST_CASE("what is taken back is taken from the sampler", "[serve]") {
  RequestQueue queue(4);
  const auto first = queue.submit(request_of({{1}}, 2, 1)), second = queue.submit(request_of({{2}}, 1, 1));
  std::vector<RequestSource::Change> changes;
  const auto engine = [&](RequestSource& source, const OnGenerated&, const SamplerHooks&) -> std::vector<Generation> {
    const std::deque<int64_t> none, all = {0, 1, 2};
    changes.push_back(source.next({.waiting = none}));
    CHECK(queue.submit(request_of({{1}}, 2, 1)) == nullptr);
    queue.cancel(first);
    changes.push_back(source.next({.waiting = all}));
    CHECK(queue.submit(request_of({{1}}, 3, 1)) != nullptr);
    throw system_error("over");
  };
  CHECK_THROWS_AS(queue.run(engine, [] { return false; }), SystemError);
  CHECK(changes[0].requests.size() == 3);
  CHECK(changes[1].cancelled == std::vector<int64_t>{0, 1});
  CHECK(first->take({}).empty());  // nobody waits there
  CHECK_THROWS_AS(second->take({}), Unavailable);
}

TEST_CASE("who is served when the server stops hears of it, and who comes later, too", "[serve]") {
  Service service;
  CompletionRequest request = request_of({{1}}, 1, 1);
  service.stop();
  CHECK_THROWS_AS(service.queue.submit(request), Unavailable);

  RequestQueue failing(10);
  const auto waiting = failing.submit(request);
  std::shared_ptr<PendingAnswer> later;
  const auto broken = [&](RequestSource& source, const OnGenerated&, const SamplerHooks&) -> std::vector<Generation> {
    const std::deque<int64_t> none;
    source.next({.waiting = none});
    later = failing.submit(request);
    throw system_error("the logits are not numbers");
  };
  CHECK_THROWS_AS(failing.run(broken, [] { return false; }), SystemError);
  for (const auto& answer : {waiting, later})
    CHECK_THROWS_WITH(answer->take(seconds(5)), Catch::Contains("sampling failed"));
}

}  // namespace roll
