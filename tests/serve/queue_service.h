// A request queue before an engine, for the tests of both.
#pragma once

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "error_of.h"
#include "rollout/fake_model.h"
#include "rollout/requests.h"
#include "serve/request_queue.h"

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

}  // namespace roll
