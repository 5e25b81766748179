#include <set>

#include "serve/queue_service.h"

namespace roll {

TEST_CASE("a seeded request gets what it would get alone, choice by choice, as often as it asks", "[serve]") {
  Service service;
  const std::vector<std::vector<int64_t>> prompts = {{1, 2, 3}, {4}};
  CompletionRequest request = request_of(prompts, 2, 7);
  request.streams = GENERATE(false, true);
  std::vector<std::shared_ptr<PendingAnswer>> twins;
  for (int i = 0; i < 3; ++i) twins.push_back(submit(service.queue, request));  // beside each other
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

TEST_CASE("requests without a seed draw numbers of their own", "[serve]") {
  RequestQueue queue(10);  // whose steps are made here
  CompletionRequest request = request_of({{1}, {2}}, 2, 0);
  request.seed.reset();
  for (int i = 0; i < 2; ++i) submit(queue, request);
  as_engine(queue, [&](const auto&, const auto&) {
    const std::deque<int64_t> none;
    std::set<uint64_t> names;
    for (const auto& one : queue.next({.waiting = none, .num_free_slots = 8}).requests) names.insert(one.sequence_id);
    CHECK(names.size() == 8);
  });
}

TEST_CASE("a sampler that has answered many is left for a new one, and nobody notices", "[serve]") {
  Service service;
  CompletionRequest quick = request_of({{1}}, 1024, 5);
  quick.sampling.max_new_tokens = 1;
  CompletionRequest slow = request_of({{2, 3}}, 1, 9);
  slow.streams = true;
  for (int round = 0; round < 5; ++round) {
    const auto some = submit(service.queue, quick);
    const auto other = submit(service.queue, slow);
    CHECK(wait_for(*some, 1024).first.back().ids.size() == 1);
    const auto [all, heard] = wait_for(*other, 1);
    CHECK(all[0].ids == expected(service, {2, 3}, 0, 9).ids);
    CHECK(heard == all[0].ids.size());
  }
  CHECK(service.num_runs > 1);
}

TEST_CASE("a sampler that has drawn much is left for a new one", "[serve]") {
  RequestQueue queue(10);
  submit(queue, request_of({{1}}, 3, 1));
  as_engine(queue, [&](const OnGenerated& on_done, const auto&) {
    const std::deque<int64_t> none;
    const auto pauses_behind = [&](int64_t index, size_t num_tokens) {
      on_done(index, {.ids = std::vector<int64_t>(num_tokens, 7), .finish_reason = FinishReason::kLength});
      return queue.next({.waiting = none, .num_running = 1}).pauses;
    };
    queue.next({.waiting = none, .num_free_slots = 8});
    CHECK_FALSE(pauses_behind(0, (1 << 20) - 1));
    CHECK(pauses_behind(1, 1));
  });
}

TEST_CASE("what is taken back while a sampler is left is not begun again", "[serve]") {
  RequestQueue queue(10);
  const auto answer = submit(queue, request_of({{1}}, 2, 1));
  const std::deque<int64_t> none;
  std::vector<size_t> num_begun;
  const auto serve = [&](RequestSource& source, const OnGenerated&, const SamplerHooks&) -> std::vector<Generation> {
    num_begun.push_back(source.next({.waiting = none, .num_running = 1, .num_free_slots = 8}).requests.size());
    if (num_begun.size() == 2) throw system_error("over");
    queue.cancel(answer);
    return {};
  };
  CHECK_THROWS_AS(queue.run(serve, [] { return false; }), SystemError);
  CHECK(num_begun == std::vector<size_t>{2, 0});
}

TEST_CASE(
    "where too many wait, a request for no more than its share is still taken, and one that is taken back frees its "
    "place",
    "[serve]") {
  RequestQueue queue(4);  // nobody serves it
  const auto first = submit(queue, request_of({{1}}, 4, 1));
  REQUIRE(first);
  CHECK(submit(queue, request_of({{1}}, 3, 1)) == nullptr);
  CHECK(submit(queue, request_of({{1}}, 2, 1)) != nullptr);
  CHECK(submit(queue, request_of({{1}}, 2, 1)) == nullptr);
  queue.cancel(first);
  CHECK(submit(queue, request_of({{1}}, 2, 1)) != nullptr);
}

TEST_CASE("a request of more responses than may wait, or of too many bytes, is refused before they are made",
          "[serve]") {
  RequestQueue queue(4000);
  const auto refusal = [&](const CompletionRequest& request) {
    return testing::error_of([&] { submit(queue, request); });
  };
  CHECK_THAT(refusal(request_of({{1}, {2}}, 2001, 1)), Contains("2 prompts x n are 4002 responses; at most 4000"));
  const std::vector<int64_t> long_prompt(30'000, 1);  // 240 kB
  CHECK_THAT(refusal(request_of(std::vector(150, long_prompt), 1, 1)), Contains("take 34 MB; at most 32"));
  const CompletionRequest large = request_of(std::vector(100, long_prompt), 40, 1);
  const auto first = submit(queue, large);
  REQUIRE(first);
  CHECK(submit(queue, large) == nullptr);  // together too large
  CHECK(submit(queue, request_of(std::vector(50, long_prompt), 1, 1)) != nullptr);
  CHECK(submit(queue, request_of(std::vector(50, long_prompt), 1, 1)) == nullptr);
  CompletionRequest junk = request_of({{1}}, 1, 1);
  junk.num_body_bytes = 40 << 20;
  CHECK_THAT(refusal(junk), Contains("take 40 MB"));
  CompletionRequest stops = request_of({{1}}, 1, 1);
  stops.sampling.stop_strings = {std::string(40'000'000, 'x')};
  CHECK_THAT(refusal(stops), Contains("take 38 MB"));
  CompletionRequest biases = request_of({{1}}, 1, 1);
  for (int64_t token = 0; token < 600'000; ++token) biases.sampling.logit_bias[token] = 1;
  CHECK_THAT(refusal(biases), Contains("take 36 MB"));
  queue.cancel(first);
  CHECK(submit(queue, request_of(std::vector(50, long_prompt), 1, 1)) != nullptr);
}

TEST_CASE("while others are sampled, scores take half of the time, and those that are not wanted none", "[serve]") {
  int num_scored = 0;
  RequestQueue queue(1024, [&](const auto& ids, auto, auto, auto) {
    ++num_scored;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return std::vector<TokenScore>(ids.size() - 1);
  });
  CompletionRequest request = request_of({{1, 2}}, 3, 1);
  request.echoes = request.with_log_probs = request.streams = true;
  const auto scored = submit(queue, request), unwanted = submit(queue, request);
  CHECK_FALSE(scored->streams_tokens());  // which would come without their scores
  as_engine(queue, [&](const OnGenerated& on_done, const auto&) {
    const std::deque<int64_t> none;
    const auto next = [&](int64_t num_running) {
      queue.next({.waiting = none, .num_running = num_running, .num_free_slots = 100});
    };
    next(1);
    for (int64_t i = 0; i < 6; ++i) on_done(i, {.ids = {3}, .finish_reason = FinishReason::kLength});
    queue.cancel(unwanted);
    next(1);
    next(1);
    CHECK(num_scored == 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    next(1);
    CHECK(num_scored == 2);
    next(0);  // nothing else is there to do
    next(0);
    CHECK(num_scored == 3);
  });
  CHECK(wait_for(*scored, 3).first.back().ids == std::vector<int64_t>{3});
}

TEST_CASE("what is taken back is taken from the sampler", "[serve]") {
  RequestQueue queue(4);
  const auto first = submit(queue, request_of({{1}}, 2, 1)), second = submit(queue, request_of({{2}}, 1, 1));
  std::vector<RequestSource::Change> changes;
  const auto engine = [&](RequestSource& source, const OnGenerated&, const SamplerHooks&) -> std::vector<Generation> {
    const std::deque<int64_t> none, all = {0, 1, 2};
    changes.push_back(source.next({.waiting = none, .num_free_slots = 8}));
    queue.cancel(first);
    changes.push_back(source.next({.waiting = all}));
    throw system_error("over");
  };
  CHECK_THROWS_AS(queue.run(engine, [] { return false; }), SystemError);
  CHECK(changes[0].requests.size() == 3);
  CHECK(changes[1].cancelled == std::vector<int64_t>{0, 1});  // neighbours, though they took turns
  CHECK(first->take({}).empty());                             // nobody waits there
  CHECK_THROWS_AS(second->take({}), Unavailable);
}

TEST_CASE("who is served when the server stops hears of it, and who comes later, too", "[serve]") {
  Service service;
  CompletionRequest request = request_of({{1}}, 1, 1);
  service.stop();
  CHECK_THROWS_AS(submit(service.queue, request), Unavailable);

  RequestQueue failing(10);
  const auto waiting = submit(failing, request);
  std::shared_ptr<PendingAnswer> later;
  const auto broken = [&](RequestSource& source, const OnGenerated&, const SamplerHooks&) -> std::vector<Generation> {
    const std::deque<int64_t> none;
    source.next({.waiting = none, .num_free_slots = 8});
    later = submit(failing, request);
    throw system_error("the logits are not numbers");
  };
  CHECK_THROWS_AS(failing.run(broken, [] { return false; }), SystemError);
  for (const auto& answer : {waiting, later})
    CHECK_THROWS_WITH(answer->take(seconds(5)), Catch::Contains("sampling failed"));
}

}  // namespace roll
