#include "serve/request_queue.h"

#include <algorithm>
#include <utility>

namespace roll {

namespace {

constexpr std::chrono::milliseconds kIdle{50};  // interval of should_stop checks
/// Limits per engine run: samplers keep finished requests until they end, and would grow for ever.
constexpr int64_t kMostEnded = 4096, kMostEndedTokens = 1 << 20;
constexpr size_t kMostBytes = 32 << 20;       // all requests together
constexpr size_t kMostBegunBytes = 16 << 20;  // choices in the engine, each with its own prompt and settings
constexpr int64_t kMostReading = 4096;        // prompt tokens computed at once, apart from short prompts
constexpr int64_t kShortPrompt = 512;
constexpr const char* kStops = "the server stops";

size_t bytes_of(const SamplingSettings& sampling) {
  constexpr size_t kBiasBytes = 64;  // per map node
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

RequestQueue::Asked::Asked(RequestQueue& its, std::shared_ptr<const CompletionRequest> what, int64_t num_its,
                           size_t num_its_bytes)
    : queue(its),
      request(std::move(what)),
      answer(std::make_shared<PendingAnswer>(request->streams && !request->needs_scores())),  // scores come at the end
      num_choices(num_its),
      num_bytes(num_its_bytes),
      number(++queue.last_number_) {
  ++queue.num_asked_;
  queue.num_bytes_ += num_bytes;
}

RequestQueue::Asked::~Asked() {
  --queue.num_asked_;
  queue.num_bytes_ -= num_bytes;
}

const std::vector<int64_t>& RequestQueue::Asked::prompt_ids(int64_t choice) const {
  return request->prompts[static_cast<size_t>(choice / request->num_choices)];
}

size_t RequestQueue::Asked::bytes_of(int64_t choice) const {
  return prompt_ids(choice).size() * sizeof(int64_t) + roll::bytes_of(request->sampling);
}

bool RequestQueue::Sample::reads_prompt() const {
  return begun.so_far.ids.empty() && begun.choice % asked->request->num_choices == 0;
}

GenerationRequest RequestQueue::Sample::request() const {
  return {.prompt_ids = asked->prompt_ids(begun.choice),
          .sequence_id = begun.sequence_id,
          .generating = asked->request->sampling,
          .seed = asked->request->seed,
          .begun = begun.so_far};
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
  drop_waiting(answer);
  cancelled_.push_back(answer);
  changed_.notify_all();
}

void RequestQueue::drop_waiting(const std::shared_ptr<PendingAnswer>& answer) {
  std::erase_if(waiting_, [&](const auto& asked) {
    if (asked->answer != answer) return false;
    num_waiting_ -= asked->num_choices - asked->num_begun;
    return true;
  });
}

RequestSource::Change RequestQueue::next(const Queue& queue) {
  score_one(queue.is_idle());
  std::unique_lock lock(mutex_);
  if (queue.is_idle() && unscored_.empty()) changed_.wait_for(lock, kIdle, [&] { return !waiting_.empty(); });
  Change change;
  drop_cancelled(change);
  change.is_last = should_stop_();
  change.pauses = num_begun_ - std::ssize(begun_) >= kMostEnded || num_ended_tokens_ >= kMostEndedTokens;
  if (change.is_last || change.pauses) return change;
  std::vector<Sample> starting;
  int64_t num_free = std::max<int64_t>(0, queue.num_free_slots - std::ssize(queue.waiting));
  while (const auto asked = next_asked()) {
    if (num_free <= 0 && asked->num_running == 0 && take_slot_back(change)) ++num_free;
    if (num_free-- <= 0) break;
    starting.push_back(begin(asked));
  }
  // Choices of a prompt that start together share its prefill.
  std::ranges::stable_sort(starting, {}, [](const Sample& sample) { return sample.asked->number; });
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
      if (entry.second.asked->answer != answer) return false;
      change.cancelled.push_back(entry.first);
      forget(entry.second);
      return true;
    });
    std::erase_if(unscored_, [&](const Unscored& unscored) { return unscored.sample.asked->answer == answer; });
  }
}

/// Returns the first request with the fewest running choices, among those that may start one; null if there is none.
std::shared_ptr<RequestQueue::Asked> RequestQueue::next_asked() const {
  std::shared_ptr<Asked> next;
  for (const auto& asked : waiting_)
    if ((!next || asked->num_running < next->num_running) && may_begin(*asked)) next = asked;
  return next;
}

bool RequestQueue::may_begin(const Asked& asked) const {
  const bool is_new = asked.interrupted.empty();
  const int64_t choice = is_new ? asked.num_begun : asked.interrupted.front().choice;
  const bool reads = is_new && choice % asked.request->num_choices == 0;
  const int64_t size = std::ssize(asked.prompt_ids(choice));
  const bool may_read = !reads || size <= kShortPrompt || num_reading_ == 0 || num_reading_ + size <= kMostReading;
  return may_read && (num_begun_bytes_ == 0 || num_begun_bytes_ + asked.bytes_of(choice) <= kMostBegunBytes);
}

RequestQueue::Sample RequestQueue::begin(const std::shared_ptr<Asked>& asked) {
  Sample sample{.asked = asked, .begun = {}};
  if (asked->interrupted.empty()) {
    const int64_t choice = asked->num_begun++;
    const auto number = static_cast<uint64_t>(choice % asked->request->num_choices);
    sample.begun = {.choice = choice, .sequence_id = asked->request->seed ? number : ++last_name_};
    --num_waiting_;
  } else {
    sample.begun = std::move(asked->interrupted.front());
    asked->interrupted.pop_front();
  }
  if (!asked->waits()) std::erase(waiting_, asked);
  ++asked->num_running;
  num_begun_bytes_ += asked->bytes_of(sample.begun.choice);
  if (sample.reads_prompt()) num_reading_ += std::ssize(asked->prompt_ids(sample.begun.choice));
  return sample;
}

/// Puts a choice back to wait, before the choices of its request that have not started.
void RequestQueue::interrupt(int64_t index) {
  Sample sample = std::move(begun_.at(index));
  begun_.erase(index);
  forget(sample);
  Asked& asked = *sample.asked;
  if (!asked.waits()) waiting_.push_back(sample.asked);
  asked.interrupted.push_back(std::move(sample.begun));
}

/// Interrupts the last started choice of the request that runs most. Returns false if none runs two.
bool RequestQueue::take_slot_back(Change& change) {
  int64_t last = -1, most = 2;
  for (const auto& [index, sample] : begun_)
    if (sample.asked->num_running >= most) {
      last = index;
      most = sample.asked->num_running;
    }
  if (last < 0) return false;
  interrupt(last);
  change.cancelled.push_back(last);
  return true;
}

void RequestQueue::hear_token(int64_t index, const Generation& so_far) {
  const auto found = begun_.find(index);
  if (found == begun_.end()) return;
  auto& [asked, begun] = found->second;
  if (found->second.reads_prompt()) num_reading_ -= std::ssize(asked->prompt_ids(begun.choice));
  const auto from = std::ssize(begun.so_far.ids);
  const auto append = [&](auto& to, const auto& all) { to.insert(to.end(), all.begin() + from, all.end()); };
  append(begun.so_far.ids, so_far.ids);
  append(begun.so_far.log_probs, so_far.log_probs);
  append(begun.so_far.processed_log_probs, so_far.processed_log_probs);
  if (!asked->answer->hears_tokens()) return;
  asked->answer->put({.choice = static_cast<size_t>(begun.choice),
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
        {.choice = static_cast<size_t>(sample.begun.choice), .ids = {}, .log_probs = {}, .ended = generation});
}

/// Scores one choice. While others are sampled, scoring takes at most half of the time.
void RequestQueue::score_one(bool is_idle) {
  if (unscored_.empty() || (!is_idle && since_scored_.seconds() < scoring_s_)) return;
  const Stopwatch watch;
  auto [sample, generation] = std::move(unscored_.front());
  unscored_.pop_front();
  const CompletionRequest& request = *sample.asked->request;
  std::vector<int64_t> ids = sample.asked->prompt_ids(sample.begun.choice);
  ids.insert(ids.end(), generation.ids.begin(), generation.ids.end());
  std::vector<TokenScore> scores = score_(ids, 1, request.num_likeliest, request.sampling.temperature);
  sample.asked->answer->put({.choice = static_cast<size_t>(sample.begun.choice),
                             .ids = {},
                             .log_probs = {},
                             .ended = std::move(generation),
                             .scores = std::move(scores)});
  scoring_s_ = watch.seconds();
  since_scored_.restart();
}

void RequestQueue::forget(const Sample& sample) {
  Asked& asked = *sample.asked;
  --asked.num_running;
  num_begun_bytes_ -= asked.bytes_of(sample.begun.choice);
  if (sample.reads_prompt()) num_reading_ -= std::ssize(asked.prompt_ids(sample.begun.choice));
}

void RequestQueue::interrupt_all() {
  const std::lock_guard lock(mutex_);
  while (!begun_.empty()) interrupt(begun_.begin()->first);
  num_begun_ = num_ended_tokens_ = 0;
}

void RequestQueue::close(const std::string& why) {
  const std::lock_guard lock(mutex_);
  closed_ = why;
  for (const auto& asked : waiting_) asked->answer->fail(why);
  for (const auto& [index, sample] : begun_) sample.asked->answer->fail(why);
  for (const Unscored& unscored : unscored_) unscored.sample.asked->answer->fail(why);
}

void RequestQueue::run(const Serve& serve, const std::function<bool()>& should_stop) {
  should_stop_ = should_stop;
  const SamplerHooks hooks{.should_stop = should_stop,
                           .on_step = {},
                           .on_token = [&](int64_t index, const Generation& so_far) { hear_token(index, so_far); }};
  const auto on_done = [&](int64_t index, const Generation& generation) { hear_end(index, generation); };
  try {
    while (!should_stop()) {
      serve(*this, on_done, hooks);
      interrupt_all();
    }
  } catch (...) {
    close("sampling failed, and the server ends; its log says why");
    throw;
  }
  close(kStops);
}

}  // namespace roll
