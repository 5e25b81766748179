#include "serve/request_queue.h"

#include <algorithm>
#include <utility>

namespace roll {

namespace {

constexpr std::chrono::milliseconds kIdleWait{50};  // interval of should_stop checks
/// Limits per engine run: samplers keep finished requests until they end, and would grow for ever.
constexpr int64_t kMaxEndedChoices = 4096, kMaxEndedTokens = 1 << 20;
constexpr size_t kMaxQueuedBytes = 32 << 20;  // all requests together
constexpr size_t kMaxEngineBytes = 16 << 20;  // choices in the engine, each with its own prompt and settings
constexpr int64_t kMaxPrefillTokens = 4096;   // prompt tokens computed at once, apart from short prompts
constexpr int64_t kShortPrompt = 512;
constexpr const char* kServerStops = "the server stops";

size_t sampling_bytes(const SamplingSettings& sampling) {
  constexpr size_t kBiasBytes = 64;  // per map node
  size_t bytes = sampling.logit_bias.size() * kBiasBytes;
  for (const std::string& stop : sampling.stop_strings) bytes += stop.size();
  return bytes;
}

size_t request_bytes(const CompletionRequest& request) {
  size_t bytes = request.num_body_bytes + sampling_bytes(request.sampling);
  for (const auto& prompt : request.prompts) bytes += prompt.size() * sizeof(int64_t);
  return bytes;
}

}  // namespace

RequestQueue::QueuedRequest::QueuedRequest(RequestQueue& owner, std::shared_ptr<const CompletionRequest> completion,
                                           int64_t choice_count, size_t byte_count)
    : queue(owner),
      request(std::move(completion)),
      answer(std::make_shared<PendingAnswer>(request->streams && !request->needs_scores())),  // scores come at the end
      num_choices(choice_count),
      num_bytes(byte_count),
      number(++queue.last_request_number_) {
  ++queue.num_requests_;
  queue.num_bytes_ += num_bytes;
}

RequestQueue::QueuedRequest::~QueuedRequest() {
  --queue.num_requests_;
  queue.num_bytes_ -= num_bytes;
}

const std::vector<int64_t>& RequestQueue::QueuedRequest::prompt_ids(int64_t choice) const {
  return request->prompts[static_cast<size_t>(choice / request->num_choices)];
}

size_t RequestQueue::QueuedRequest::choice_bytes(int64_t choice) const {
  return prompt_ids(choice).size() * sizeof(int64_t) + roll::sampling_bytes(request->sampling);
}

bool RequestQueue::Sample::computes_prompt() const {
  return begun.so_far.ids.empty() && begun.choice % queued->request->num_choices == 0;
}

GenerationRequest RequestQueue::Sample::request() const {
  return {.prompt_ids = queued->prompt_ids(begun.choice),
          .sequence_id = begun.sequence_id,
          .generating = queued->request->sampling,
          .seed = queued->request->seed,
          .begun = begun.so_far};
}

std::shared_ptr<PendingAnswer> RequestQueue::submit(std::shared_ptr<const CompletionRequest> request) {
  const std::lock_guard lock(mutex_);
  if (!close_reason_.empty()) throw Unavailable(close_reason_);
  const int64_t count = std::ssize(request->prompts) * request->num_choices;
  const size_t bytes = request_bytes(*request);
  if (count > max_waiting_)
    throw user_error("n = {}: {} prompts x n are {} responses; at most {} may wait", request->num_choices,
                     request->prompts.size(), count, max_waiting_);
  if (bytes > kMaxQueuedBytes)
    throw user_error("the body, its prompts, stop strings and biases take {} MB; at most {} are allowed", bytes >> 20,
                     kMaxQueuedBytes >> 20);
  const auto share = static_cast<size_t>(num_requests_ + 1);
  const auto fits = [&](size_t used, size_t added, size_t limit) {
    return used + added <= limit || added <= limit / share;
  };
  if (!fits(static_cast<size_t>(num_waiting_), static_cast<size_t>(count), static_cast<size_t>(max_waiting_)) ||
      !fits(num_bytes_, bytes, kMaxQueuedBytes))
    return nullptr;
  num_waiting_ += count;
  waiting_.push_back(std::make_shared<QueuedRequest>(*this, std::move(request), count, bytes));
  changed_.notify_all();
  return waiting_.back()->answer;
}

void RequestQueue::cancel(const std::shared_ptr<PendingAnswer>& answer) {
  const std::lock_guard lock(mutex_);
  drop_waiting(answer);
  cancelled_.push_back(answer);
  changed_.notify_all();
}

void RequestQueue::drop_waiting(const std::shared_ptr<PendingAnswer>& answer) {
  std::erase_if(waiting_, [&](const auto& queued) {
    if (queued->answer != answer) return false;
    num_waiting_ -= queued->num_choices - queued->num_begun;
    return true;
  });
}

RequestSource::Change RequestQueue::next(const Queue& queue) {
  score_one(queue.is_idle());
  std::unique_lock lock(mutex_);
  if (queue.is_idle() && unscored_.empty()) changed_.wait_for(lock, kIdleWait, [&] { return !waiting_.empty(); });
  Change change;
  drop_cancelled(change);
  change.is_last = should_stop_();
  change.pauses = num_begun_ - std::ssize(begun_) >= kMaxEndedChoices || num_ended_tokens_ >= kMaxEndedTokens;
  if (change.is_last || change.pauses) return change;
  std::vector<Sample> starting;
  int64_t num_free = std::max<int64_t>(0, queue.num_free_slots - std::ssize(queue.waiting));
  while (const auto queued = next_request()) {
    if (num_free <= 0 && queued->num_running == 0 && take_slot_back(change)) ++num_free;
    if (num_free-- <= 0) break;
    starting.push_back(begin(queued));
  }
  // Choices of a prompt that start together share its prefill.
  std::ranges::stable_sort(starting, {}, [](const Sample& sample) { return sample.queued->number; });
  for (Sample& sample : starting) {
    change.requests.push_back(sample.request());
    begun_.emplace(num_begun_++, std::move(sample));
  }
  return change;
}

void RequestQueue::drop_cancelled(Change& change) {
  for (const auto& answer : std::exchange(cancelled_, {})) {
    drop_waiting(answer);  // interrupted choices wait again
    std::erase_if(begun_, [&](const auto& entry) {
      if (entry.second.queued->answer != answer) return false;
      change.cancelled.push_back(entry.first);
      release(entry.second);
      return true;
    });
    std::erase_if(unscored_, [&](const Unscored& unscored) { return unscored.sample.queued->answer == answer; });
  }
}

/// Returns the first request with the fewest running choices, among those that may start one; null if there is none.
std::shared_ptr<RequestQueue::QueuedRequest> RequestQueue::next_request() const {
  std::shared_ptr<QueuedRequest> next;
  for (const auto& queued : waiting_)
    if ((!next || queued->num_running < next->num_running) && may_begin(*queued)) next = queued;
  return next;
}

bool RequestQueue::may_begin(const QueuedRequest& queued) const {
  const bool is_new = queued.interrupted.empty();
  const int64_t choice = is_new ? queued.num_begun : queued.interrupted.front().choice;
  const bool computes_new_prompt = is_new && choice % queued.request->num_choices == 0;
  const int64_t size = std::ssize(queued.prompt_ids(choice));
  const bool may_compute = !computes_new_prompt || size <= kShortPrompt || num_prefill_tokens_ == 0 ||
                           num_prefill_tokens_ + size <= kMaxPrefillTokens;
  return may_compute && (num_engine_bytes_ == 0 || num_engine_bytes_ + queued.choice_bytes(choice) <= kMaxEngineBytes);
}

RequestQueue::Sample RequestQueue::begin(const std::shared_ptr<QueuedRequest>& queued) {
  Sample sample{.queued = queued, .begun = {}};
  if (queued->interrupted.empty()) {
    const int64_t choice = queued->num_begun++;
    const auto number = static_cast<uint64_t>(choice % queued->request->num_choices);
    sample.begun = {.choice = choice, .sequence_id = queued->request->seed ? number : ++last_sequence_id_};
    --num_waiting_;
  } else {
    sample.begun = std::move(queued->interrupted.front());
    queued->interrupted.pop_front();
  }
  if (!queued->waits()) std::erase(waiting_, queued);
  ++queued->num_running;
  num_engine_bytes_ += queued->choice_bytes(sample.begun.choice);
  if (sample.computes_prompt()) num_prefill_tokens_ += std::ssize(queued->prompt_ids(sample.begun.choice));
  return sample;
}

/// Puts a choice back to wait, before the choices of its request that have not started.
void RequestQueue::interrupt(int64_t index) {
  Sample sample = std::move(begun_.at(index));
  begun_.erase(index);
  release(sample);
  QueuedRequest& queued = *sample.queued;
  if (!queued.waits()) waiting_.push_back(sample.queued);
  queued.interrupted.push_back(std::move(sample.begun));
}

/// Interrupts the last started choice of the request that runs most. Returns false if none runs two.
bool RequestQueue::take_slot_back(Change& change) {
  int64_t victim = -1, most_running = 2;
  for (const auto& [index, sample] : begun_)
    if (sample.queued->num_running >= most_running) {
      victim = index;
      most_running = sample.queued->num_running;
    }
  if (victim < 0) return false;
  interrupt(victim);
  change.cancelled.push_back(victim);
  return true;
}

void RequestQueue::record_tokens(int64_t index, const Generation& so_far) {
  const auto found = begun_.find(index);
  if (found == begun_.end()) return;
  auto& [queued, begun] = found->second;
  if (found->second.computes_prompt()) num_prefill_tokens_ -= std::ssize(queued->prompt_ids(begun.choice));
  const auto from = std::ssize(begun.so_far.ids);
  const auto append = [&](auto& to, const auto& values) { to.insert(to.end(), values.begin() + from, values.end()); };
  append(begun.so_far.ids, so_far.ids);
  append(begun.so_far.log_probs, so_far.log_probs);
  append(begun.so_far.processed_log_probs, so_far.processed_log_probs);
  if (!queued->answer->streams_tokens()) return;
  queued->answer->put({.choice = static_cast<size_t>(begun.choice),
                       .ids = {so_far.ids.begin() + from, so_far.ids.end()},
                       .log_probs = {so_far.log_probs.begin() + from, so_far.log_probs.end()},
                       .ended = {}});
}

void RequestQueue::record_end(int64_t index, const Generation& generation) {
  const auto found = begun_.find(index);
  if (found == begun_.end()) return;
  Sample sample = std::move(found->second);
  begun_.erase(found);
  release(sample);
  num_ended_tokens_ += std::ssize(generation.ids);
  if (generation.finish_reason == FinishReason::kAbort)
    sample.queued->answer->fail(kServerStops);
  else if (sample.queued->request->needs_scores())
    unscored_.push_back({std::move(sample), generation});
  else
    sample.queued->answer->put(
        {.choice = static_cast<size_t>(sample.begun.choice), .ids = {}, .log_probs = {}, .ended = generation});
}

/// Scores one choice. While others are sampled, scoring takes at most half of the time.
void RequestQueue::score_one(bool is_idle) {
  if (unscored_.empty() || (!is_idle && since_scored_.seconds() < scoring_s_)) return;
  const Stopwatch watch;
  auto [sample, generation] = std::move(unscored_.front());
  unscored_.pop_front();
  const CompletionRequest& request = *sample.queued->request;
  std::vector<int64_t> ids = sample.queued->prompt_ids(sample.begun.choice);
  ids.insert(ids.end(), generation.ids.begin(), generation.ids.end());
  std::vector<TokenScore> scores = score_(ids, 1, request.num_likeliest, request.sampling.temperature);
  sample.queued->answer->put({.choice = static_cast<size_t>(sample.begun.choice),
                              .ids = {},
                              .log_probs = {},
                              .ended = std::move(generation),
                              .scores = std::move(scores)});
  scoring_s_ = watch.seconds();
  since_scored_.restart();
}

void RequestQueue::release(const Sample& sample) {
  QueuedRequest& queued = *sample.queued;
  --queued.num_running;
  num_engine_bytes_ -= queued.choice_bytes(sample.begun.choice);
  if (sample.computes_prompt()) num_prefill_tokens_ -= std::ssize(queued.prompt_ids(sample.begun.choice));
}

void RequestQueue::interrupt_all() {
  const std::lock_guard lock(mutex_);
  while (!begun_.empty()) interrupt(begun_.begin()->first);
  num_begun_ = num_ended_tokens_ = 0;
}

void RequestQueue::close(const std::string& why) {
  const std::lock_guard lock(mutex_);
  close_reason_ = why;
  for (const auto& queued : waiting_) queued->answer->fail(why);
  for (const auto& [index, sample] : begun_) sample.queued->answer->fail(why);
  for (const Unscored& unscored : unscored_) unscored.sample.queued->answer->fail(why);
}

void RequestQueue::run(const Serve& serve, const std::function<bool()>& should_stop) {
  should_stop_ = should_stop;
  const SamplerHooks hooks{.should_stop = should_stop,
                           .on_step = {},
                           .on_token = [&](int64_t index, const Generation& so_far) { record_tokens(index, so_far); }};
  const auto on_done = [&](int64_t index, const Generation& generation) { record_end(index, generation); };
  try {
    while (!should_stop()) {
      serve(*this, on_done, hooks);
      interrupt_all();
    }
  } catch (...) {
    close("sampling failed and the server stops; see its log");
    throw;
  }
  close(kServerStops);
}

}  // namespace roll
