#include "serve/request_queue.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <set>
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

using Prompts = std::vector<std::vector<int64_t>>;

CompletionRequest request_of(Prompts prompts, int64_t n, uint64_t seed) {
  CompletionRequest request{.prompts = std::move(prompts), .num_choices = n, .sampling = {}, .seed = seed};
  request.sampling = params_of(20).generating;
  return request;
}

std::shared_ptr<PendingAnswer> submit(RequestQueue& queue, const CompletionRequest& request) {
  return queue.submit(std::make_shared<const CompletionRequest>(request));
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

/// Runs `steps` as the engine of `queue`, which then fails.
void as_engine(RequestQueue& queue, const std::function<void(const OnGenerated&, const SamplerHooks&)>& steps) {
  const auto serve = [&](RequestSource&, const OnGenerated& on_done,
                         const SamplerHooks& hooks) -> std::vector<Generation> {
    steps(on_done, hooks);
    throw system_error("over");
  };
  CHECK_THROWS_AS(queue.run(serve, [] { return false; }), SystemError);
}

}  // namespace

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

/// What a queue gives an engine of many slots, of which none gets free, step by step.
class Slots {
 public:
  Slots(RequestQueue& its, int64_t count) : queue_(its), num_free_(count) {}

  /// The prompts of the choices that begin in this step.
  Prompts next() {
    const std::deque<int64_t> none;
    Prompts prompts;
    RequestSource::Change change = queue_.next({.waiting = none, .num_running = 1, .num_free_slots = num_free_});
    for (GenerationRequest& request : change.requests) prompts.push_back(std::move(request.prompt_ids));
    cancelled = change.cancelled;
    num_free_ += std::ssize(cancelled) - std::ssize(prompts);
    return prompts;
  }

  std::vector<int64_t> cancelled;

 private:
  RequestQueue& queue_;
  int64_t num_free_;
};

TEST_CASE("a request without a slot takes one from the request that has most, and gets no second one that way",
          "[serve]") {
  RequestQueue queue(1024);
  submit(queue, request_of({{1}}, 1000, 1));
  as_engine(queue, [&](const OnGenerated& on_done, const SamplerHooks& hooks) {
    Slots slots(queue, 4);
    CHECK(slots.next() == Prompts{{1}, {1}, {1}, {1}});
    hooks.on_token(3, {.ids = {7, 8}, .log_probs = {-1, -2}, .processed_log_probs = {-1, -2}});
    submit(queue, request_of({{2}}, 5, 1));
    submit(queue, request_of({{3}}, 1, 1));
    CHECK(slots.next() == Prompts{{2}, {3}});
    CHECK(slots.cancelled == std::vector<int64_t>{3, 2});
    CHECK(slots.next().empty());
    on_done(5, {.ids = {9}, .finish_reason = FinishReason::kLength});  // the request for {3}
    const std::deque<int64_t> none;
    const auto change = queue.next({.waiting = none, .num_running = 1, .num_free_slots = 3});
    REQUIRE(change.requests.size() == 3);  // each request has three slots now
    CHECK(change.requests[0].prompt_ids == std::vector<int64_t>{1});
    CHECK(change.requests[0].begun.ids == std::vector<int64_t>{7, 8});
    CHECK(change.requests[0].sequence_id == 3);
    CHECK(change.requests[1].prompt_ids == std::vector<int64_t>{2});
    CHECK(change.requests[2].prompt_ids == std::vector<int64_t>{2});
  });
}

TEST_CASE("a slot is taken of the request that has most, and never its only one", "[serve]") {
  RequestQueue queue(1024);
  as_engine(queue, [&](const auto&, const auto&) {
    Slots three(queue, 3), two(queue, 2);
    submit(queue, request_of({{1}}, 1, 1));
    submit(queue, request_of({{2}}, 1, 1));
    CHECK(two.next() == Prompts{{1}, {2}});
    submit(queue, request_of({{3}}, 1, 1));
    CHECK(two.next().empty());
    CHECK(two.cancelled.empty());
    CHECK(three.next() == Prompts{{3}});
    submit(queue, request_of({{4}}, 2, 1));
    CHECK(three.next() == Prompts{{4}, {4}});
    Slots more(queue, 3);
    submit(queue, request_of({{5}}, 3, 1));
    CHECK(more.next() == Prompts{{5}, {5}, {5}});
    Slots last(queue, 2);
    submit(queue, request_of({{6}}, 2, 1));
    CHECK(last.next() == Prompts{{6}, {6}});
    submit(queue, request_of({{7}}, 1, 1));
    CHECK(last.next() == Prompts{{7}});
    CHECK(last.cancelled == std::vector<int64_t>{7});  // the last of {5}, not of {6}
  });
}

TEST_CASE("what is interrupted for others gets what it would get alone, and is heard once", "[serve]") {
  Service service;
  CompletionRequest many = request_of({{1, 2}}, 6, 7), one = request_of({{4}}, 1, 9);
  many.streams = true;
  for (int round = 0; round < 20; ++round) {
    const auto answer = submit(service.queue, many);
    std::vector<std::shared_ptr<PendingAnswer>> others;
    for (int i = 0; i < 5; ++i) others.push_back(submit(service.queue, one));
    const auto [all, heard] = wait_for(*answer, 6);
    size_t drawn = 0;
    for (uint64_t choice = 0; choice < 6; ++choice) {
      CHECK(all[choice].ids == expected(service, {1, 2}, choice, 7).ids);
      drawn += all[choice].ids.size();
    }
    CHECK(heard == drawn);
    for (const auto& other : others) CHECK(wait_for(*other, 1).first[0].ids == expected(service, {4}, 0, 9).ids);
  }
}

TEST_CASE("long prompts are read a few at a time, and short ones beside them", "[serve]") {
  RequestQueue queue(1024);
  const std::vector<int64_t> a(3900, 1), b(3000, 2), c(3000, 3), other(3000, 4), brief(500, 5);
  submit(queue, request_of({a, b, c}, 2, 1));
  as_engine(queue, [&](const auto&, const SamplerHooks& hooks) {
    Slots slots(queue, 100);
    CHECK(slots.next() == Prompts{a, a});
    submit(queue, request_of({other}, 1, 1));
    submit(queue, request_of({brief}, 1, 1));
    CHECK(slots.next() == Prompts{brief});
    for (int token = 1; token < 3; ++token) {  // the second one changes nothing
      hooks.on_token(0, {.ids = std::vector<int64_t>(token, 7),
                         .log_probs = std::vector<float>(token),
                         .processed_log_probs = std::vector<float>(token)});
      CHECK(slots.next() == (token == 1 ? Prompts{other} : Prompts{}));
    }
  });
}

TEST_CASE("choices in the engine have a largest size together", "[serve]") {
  RequestQueue queue(1024);
  CompletionRequest biased = request_of({{1}}, 10, 1);
  for (int64_t token = 0; token < 100'000; ++token) biased.sampling.logit_bias[token] = 1;  // 6.4 MB
  submit(queue, biased);
  as_engine(queue, [&](const OnGenerated& on_done, const auto&) {
    Slots slots(queue, 100);
    CHECK(slots.next().size() == 2);
    submit(queue, request_of({{2}}, 1, 1));
    CHECK(slots.next() == Prompts{{2}});
    on_done(0, {.finish_reason = FinishReason::kLength});
    CHECK(slots.next().size() == 1);
  });
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
  CHECK_FALSE(scored->hears_tokens());  // which would come without their scores
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
