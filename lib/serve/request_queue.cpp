#include "serve/request_queue.h"

#include <algorithm>
#include <utility>

namespace roll {

namespace {

constexpr std::chrono::milliseconds kIdle{50};  // between two looks for a wish to stop
/// Samplers keep what they did until they end; one that never ended would grow for ever.
constexpr int64_t kMostEnded = 4096, kMostEndedTokens = 1 << 20;
constexpr size_t kMostBytes = 32 << 20;       // of requests
constexpr size_t kMostBegunBytes = 64 << 20;  // of choices in the engine, each with its own prompt and settings
constexpr int64_t kFreeShare = 7;             // slots of a request for each one that it leaves free
constexpr int64_t kMostReading = 4096;        // tokens of a request's prompts that are computed beside each other
constexpr const char* kStops = "the server stops";

size_t bytes_of(const SamplingSettings& sampling) {
  constexpr size_t kBiasBytes = 64;  // a node of the map
  size_t bytes = sampling.logit_bias.size() * kBiasBytes;
  for (const std::string& stop : sampling.stop_strings) bytes += stop.size();
  return bytes;
}

size_t bytes_of(const CompletionRequest& request) {
  size_t bytes = request.num_body_bytes + bytes_of(request.sampling);
  for (const auto& prompt : request.prompts) bytes += prompt.size() * sizeof(int64_t);
  return bytes;
}

}  // namespace

RequestQueue::Asked::Asked(RequestQueue& its, std::shared_ptr<const CompletionRequest> what, int64_t num, size_t bytes)
    : queue(its),
      request(std::move(what)),
      answer(std::make_shared<PendingAnswer>(request->streams && !request->needs_scores())),  // scores come at the end
      num_choices(num),
      num_bytes(bytes) {
  ++queue.num_asked_;
  queue.num_bytes_ += num_bytes;
}

RequestQueue::Asked::~Asked() {
  --queue.num_asked_;
  queue.num_bytes_ -= num_bytes;
}

const std::vector<int64_t>& RequestQueue::Sample::prompt() const {
  return asked->request->prompts[static_cast<size_t>(choice / asked->request->num_choices)];
}

bool RequestQueue::Sample::reads_prompt() const {
  return choice % asked->request->num_choices == 0;
}

size_t RequestQueue::Sample::num_bytes() const {
  return prompt().size() * sizeof(int64_t) + bytes_of(asked->request->sampling);
}

GenerationRequest RequestQueue::Sample::request() const {
  return {.prompt_ids = prompt(),
          .sequence_id = sequence_id,
          .generating = asked->request->sampling,
          .seed = asked->request->seed,
          .begun = begun};
}

std::shared_ptr<PendingAnswer> RequestQueue::submit(std::shared_ptr<const CompletionRequest> request) {
  const std::lock_guard lock(mutex_);
  if (!closed_.empty()) throw Unavailable(closed_);
  const int64_t count = std::ssize(request->prompts) * request->num_choices;
  const size_t bytes = bytes_of(*request);
  if (count > max_waiting_)
    throw user_error("n = {}: {} prompts x n are {} responses; at most {} may wait", request->num_choices,
                     request->prompts.size(), count, max_waiting_);
  if (bytes > kMostBytes)
    throw user_error("the body, its prompts, stop strings and biases take {} MB; at most {}", bytes >> 20,
                     kMostBytes >> 20);
  const auto share = static_cast<size_t>(num_asked_ + 1);
  const auto fits = [&](size_t taken, size_t more, size_t most) {
    return taken + more <= most || more <= most / share;
  };
  if (!fits(static_cast<size_t>(num_waiting_), static_cast<size_t>(count), static_cast<size_t>(max_waiting_)) ||
      !fits(num_bytes_, bytes, kMostBytes))
    return nullptr;
  num_waiting_ += count;
  waiting_.push_back(std::make_shared<Asked>(*this, std::move(request), count, bytes));
  changed_.notify_all();
  return waiting_.back()->answer;
}

void RequestQueue::cancel(const std::shared_ptr<PendingAnswer>& answer) {
  const std::lock_guard lock(mutex_);
  std::erase_if(waiting_, [&](const auto& asked) {
    const bool is_it = asked->answer == answer;
    if (is_it) num_waiting_ -= asked->num_choices - asked->num_begun;
    return is_it;
  });
  cancelled_.push_back(answer);
  changed_.notify_all();
}

RequestSource::Change RequestQueue::next(const Queue& queue) {
  score_one(queue.is_idle());
  std::unique_lock lock(mutex_);
  if (queue.is_idle() && paused_.empty() && unscored_.empty())
    changed_.wait_for(lock, kIdle, [&] { return !waiting_.empty(); });
  Change change;
  drop_cancelled(change);
  change.is_last = should_stop_();
  change.pauses = num_begun_ - std::ssize(begun_) >= kMostEnded || num_ended_tokens_ >= kMostEndedTokens;
  if (change.is_last || change.pauses) return change;
  const int64_t num_free = queue.num_free_slots - std::ssize(queue.waiting) - std::ssize(paused_);
  for (Sample& sample : std::exchange(paused_, {})) begin(std::move(sample), change);
  begin_waiting(num_free, change);
  return change;
}

void RequestQueue::drop_cancelled(Change& change) {
  for (const auto& answer : std::exchange(cancelled_, {})) {
    std::erase_if(begun_, [&](const auto& entry) {
      if (entry.second.asked->answer != answer) return false;
      change.cancelled.push_back(entry.first);
      forget(entry.second);
      return true;
    });
    std::erase_if(paused_, [&](const Sample& sample) {
      if (sample.asked->answer != answer) return false;
      forget(sample);
      return true;
    });
    std::erase_if(unscored_, [&](const Unscored& unscored) { return unscored.sample.asked->answer == answer; });
  }
}

void RequestQueue::begin_waiting(int64_t num_free, Change& change) {
  for (const std::shared_ptr<Asked>& asked : waiting_)
    for (; asked->num_begun < asked->num_choices; ++asked->num_begun, --num_free, --num_waiting_) {
      Sample sample{.asked = asked, .choice = asked->num_begun};
      if (!may_begin(sample, num_free)) break;
      sample.sequence_id =
          asked->request->seed ? static_cast<uint64_t>(sample.choice % asked->request->num_choices) : ++last_name_;
      ++asked->num_running;
      if (sample.reads_prompt()) asked->num_reading += std::ssize(sample.prompt());
      num_begun_bytes_ += sample.num_bytes();
      begin(std::move(sample), change);
    }
  std::erase_if(waiting_, [](const auto& asked) { return asked->num_begun == asked->num_choices; });
}

/// A request without a slot takes the last one, so that each gets on.
bool RequestQueue::may_begin(const Sample& sample, int64_t num_free) const {
  const Asked& asked = *sample.asked;
  const bool has_slot = asked.num_running == 0 ? num_free > 0 : asked.num_running < kFreeShare * (num_free - 1);
  const bool has_bytes = begun_.empty() || num_begun_bytes_ + sample.num_bytes() <= kMostBegunBytes;
  const bool may_read = !sample.reads_prompt() || asked.num_reading == 0 ||
                        asked.num_reading + std::ssize(sample.prompt()) <= kMostReading;
  return has_slot && has_bytes && may_read;
}

void RequestQueue::begin(Sample sample, Change& change) {
  change.requests.push_back(sample.request());
  sample.begun = {};
  begun_.emplace(num_begun_++, std::move(sample));
}

void RequestQueue::hear_token(int64_t index, const Generation& so_far) {
  const auto found = begun_.find(index);
  if (found == begun_.end()) return;
  Sample& sample = found->second;
  const auto from = static_cast<int64_t>(std::exchange(sample.num_heard, so_far.ids.size()));
  if (from == 0 && sample.reads_prompt()) sample.asked->num_reading -= std::ssize(sample.prompt());
  if (!sample.asked->answer->hears_tokens()) return;
  sample.asked->answer->put({.choice = static_cast<size_t>(sample.choice),
                             .ids = {so_far.ids.begin() + from, so_far.ids.end()},
                             .log_probs = {so_far.log_probs.begin() + from, so_far.log_probs.end()},
                             .ended = {}});
}

void RequestQueue::hear_end(int64_t index, const Generation& generation) {
  const auto found = begun_.find(index);
  if (found == begun_.end()) return;
  Sample sample = std::move(found->second);
  begun_.erase(found);
  forget(sample);
  num_ended_tokens_ += std::ssize(generation.ids);
  if (generation.finish_reason == FinishReason::kAbort)
    sample.asked->answer->fail(kStops);
  else if (sample.asked->request->needs_scores())
    unscored_.push_back({std::move(sample), generation});
  else
    sample.asked->answer->put(
        {.choice = static_cast<size_t>(sample.choice), .ids = {}, .log_probs = {}, .ended = generation});
}

/// Scores one choice. While others are sampled, scores take no more than half of the time.
void RequestQueue::score_one(bool is_idle) {
  if (unscored_.empty() || (!is_idle && since_scored_.seconds() < scoring_s_)) return;
  const Stopwatch watch;
  auto [sample, generation] = std::move(unscored_.front());
  unscored_.pop_front();
  const CompletionRequest& request = *sample.asked->request;
  std::vector<int64_t> ids = sample.prompt();
  ids.insert(ids.end(), generation.ids.begin(), generation.ids.end());
  std::vector<TokenScore> scores = score_(ids, 1, request.num_likeliest, request.sampling.temperature);
  sample.asked->answer->put({.choice = static_cast<size_t>(sample.choice),
                             .ids = {},
                             .log_probs = {},
                             .ended = std::move(generation),
                             .scores = std::move(scores)});
  scoring_s_ = watch.seconds();
  since_scored_.restart();
}

void RequestQueue::forget(const Sample& sample) {
  --sample.asked->num_running;
  num_begun_bytes_ -= sample.num_bytes();
}

/// What had not ended is begun before all that waits.
void RequestQueue::take_up(std::vector<Generation> unfinished) {
  for (auto& [index, sample] : begun_) {
    sample.begun = std::move(unfinished.at(static_cast<size_t>(index)));
    paused_.push_back(std::move(sample));
  }
  begun_.clear();
  num_begun_ = num_ended_tokens_ = 0;
}

void RequestQueue::close(const std::string& why) {
  const std::lock_guard lock(mutex_);
  closed_ = why;
  for (const auto& asked : waiting_) asked->answer->fail(why);
  for (const auto& [index, sample] : begun_) sample.asked->answer->fail(why);
  for (const Sample& sample : paused_) sample.asked->answer->fail(why);
  for (const Unscored& unscored : unscored_) unscored.sample.asked->answer->fail(why);
}

void RequestQueue::run(const Serve& serve, const std::function<bool()>& should_stop) {
  should_stop_ = should_stop;
  const SamplerHooks hooks{.should_stop = should_stop,
                           .on_step = {},
                           .on_token = [&](int64_t index, const Generation& so_far) { hear_token(index, so_far); }};
  const auto on_done = [&](int64_t index, const Generation& generation) { hear_end(index, generation); };
  try {
    while (!should_stop()) take_up(serve(*this, on_done, hooks));
  } catch (...) {
    close("sampling failed, and the server ends; its log says why");
    throw;
  }
  close(kStops);
}

}  // namespace roll
