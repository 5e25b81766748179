// Which request gets the engine's slots, and how much of it at a time.
#include "serve/queue_service.h"

namespace roll {

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

}  // namespace roll
