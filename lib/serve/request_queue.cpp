#include "serve/request_queue.h"

#include <algorithm>
#include <utility>

namespace roll {

namespace {

constexpr std::chrono::milliseconds kIdle{50};  // between two looks for a wish to stop
/// Samplers keep what they did until they end; one that never ended would grow for ever.
constexpr int64_t kMostEnded = 4096;
/// Each choice has its own prompt and sampling settings, in bytes.
constexpr size_t kMostBytes = 64 << 20;
constexpr const char* kStops = "the server stops";

size_t bytes_of(const std::vector<int64_t>& prompt, const SamplingSettings& sampling) {
  size_t bytes = prompt.size() * sizeof(int64_t) + sampling.logit_bias.size() * sizeof(std::pair<int64_t, double>);
  for (const std::string& stop : sampling.stop_strings) bytes += stop.size();
  return bytes;
}

size_t bytes_of(const CompletionRequest& request) {
  size_t bytes = 0;
  for (const auto& prompt : request.prompts) bytes += bytes_of(prompt, request.sampling);
  return bytes * static_cast<size_t>(request.num_choices);
}

}  // namespace

std::shared_ptr<PendingAnswer> RequestQueue::submit(const CompletionRequest& request) {
  const std::lock_guard lock(mutex_);
  if (!closed_.empty()) throw Unavailable(closed_);
  const int64_t count = std::ssize(request.prompts) * request.num_choices;
  const size_t bytes = bytes_of(request);
  if (count > max_waiting_)
    throw user_error("n = {}: {} prompts x n are {} responses; at most {} may wait", request.num_choices,
                     request.prompts.size(), count, max_waiting_);
  if (bytes > kMostBytes)
    throw user_error("n = {}: prompts, stop strings and biases of all responses take {} MB; at most {}",
                     request.num_choices, bytes >> 20, kMostBytes >> 20);
  if (num_waiting_ + std::ssize(incoming_) + count > max_waiting_ || num_bytes_ + bytes > kMostBytes) return nullptr;
  num_bytes_ += bytes;
  const bool is_scored = request.needs_scores();  // at the end, all at once
  auto answer = std::make_shared<PendingAnswer>(request.streams && !is_scored);
  for (int64_t choice = 0; choice < count; ++choice)
    incoming_.push_back(
        {.answer = answer,
         .choice = static_cast<size_t>(choice),
         .request = {.prompt_ids = request.prompts[static_cast<size_t>(choice / request.num_choices)],
                     .sequence_id = request.seed ? static_cast<uint64_t>(choice % request.num_choices) : ++last_name_,
                     .generating = request.sampling,
                     .seed = request.seed},
         .num_likeliest = is_scored ? std::optional(request.num_likeliest) : std::nullopt});
  changed_.notify_all();
  return answer;
}

void RequestQueue::cancel(const std::shared_ptr<PendingAnswer>& answer) {
  const std::lock_guard lock(mutex_);
  std::erase_if(incoming_, [&](const Sample& sample) {
    const bool is_its = sample.answer == answer;
    if (is_its) forget(sample);
    return is_its;
  });
  cancelled_.push_back(answer);
  changed_.notify_all();
}

RequestSource::Change RequestQueue::next(const Queue& queue) {
  std::unique_lock lock(mutex_);
  if (queue.is_idle()) changed_.wait_for(lock, kIdle, [&] { return !incoming_.empty(); });
  Change change;
  for (const auto& answer : std::exchange(cancelled_, {}))
    std::erase_if(begun_, [&](const auto& entry) {
      const bool is_its = entry.second.answer == answer;
      if (!is_its) return false;
      change.cancelled.push_back(entry.first);
      forget(entry.second);
      return true;
    });
  if (should_stop_()) change.is_last = true;
  change.pauses = num_begun_ - std::ssize(begun_) >= kMostEnded;
  if (change.is_last || change.pauses) return change;
  for (Sample& sample : std::exchange(incoming_, {})) {
    change.requests.push_back(sample.request);
    begun_.emplace(num_begun_++, std::move(sample));
  }
  num_waiting_ = std::ssize(queue.waiting) + std::ssize(change.requests);
  for (const int64_t index : change.cancelled) num_waiting_ -= std::ranges::count(queue.waiting, index);
  return change;
}

void RequestQueue::hear_token(int64_t index, const Generation& so_far) {
  const auto found = begun_.find(index);
  if (found == begun_.end() || !found->second.answer->hears_tokens()) return;
  Sample& sample = found->second;
  const auto from = static_cast<int64_t>(std::exchange(sample.num_heard, so_far.ids.size()));
  sample.answer->put({.choice = sample.choice,
                      .ids = {so_far.ids.begin() + from, so_far.ids.end()},
                      .log_probs = {so_far.log_probs.begin() + from, so_far.log_probs.end()},
                      .ended = {}});
}

std::vector<TokenScore> RequestQueue::scores_of(const Sample& sample, const Generation& generation) const {
  if (!sample.num_likeliest) return {};
  std::vector<int64_t> ids = sample.request.prompt_ids;
  ids.insert(ids.end(), generation.ids.begin(), generation.ids.end());
  return score_(ids, 1, *sample.num_likeliest, sample.request.generating->temperature);
}

void RequestQueue::hear_end(int64_t index, const Generation& generation) {
  const auto found = begun_.find(index);
  if (found == begun_.end()) return;
  if (generation.finish_reason == FinishReason::kAbort)
    found->second.answer->fail(kStops);
  else
    found->second.answer->put({.choice = found->second.choice,
                               .ids = {},
                               .log_probs = {},
                               .ended = generation,
                               .scores = scores_of(found->second, generation)});
  const std::lock_guard lock(mutex_);
  forget(found->second);
  begun_.erase(found);
}

void RequestQueue::forget(const Sample& sample) {
  num_bytes_ -= bytes_of(sample.request.prompt_ids, *sample.request.generating);
}

/// What had not ended waits before all that came since.
void RequestQueue::take_up(std::vector<Generation> unfinished) {
  const std::lock_guard lock(mutex_);
  for (auto entry = begun_.rbegin(); entry != begun_.rend(); ++entry) {
    entry->second.request.begun = std::move(unfinished.at(static_cast<size_t>(entry->first)));
    incoming_.push_front(std::move(entry->second));
  }
  begun_.clear();
  num_begun_ = 0;
}

void RequestQueue::close(const std::string& why) {
  const std::lock_guard lock(mutex_);
  closed_ = why;
  for (const Sample& sample : incoming_) sample.answer->fail(why);
  for (const auto& [index, sample] : begun_) sample.answer->fail(why);
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
