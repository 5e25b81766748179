// Planning of a step: which sequences start, decode, compute prompts or guesses, and on which pages.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "rollout/scheduler.h"

namespace roll {

namespace {

constexpr int64_t kMostGuesses = 32;   // per sequence and step
constexpr int64_t kLeastGuesses = 32;  // per step, for few sequences together

}  // namespace

StepPlan Scheduler::plan(Launch& launch) {
  StepPlan step;
  Launch decoding;
  plan_decoding(step, decoding);
  plan_prompts(step, launch, model_.max_rows() - std::ssize(step.decoding));
  if (guesser_ && step.pieces.empty()) add_guesses(step);
  launch.insert(launch.end(), decoding.begin(), decoding.end());
  counts_.slot_steps += step.is_empty() ? 0 : counts_.num_slots;
  counts_.decoded += std::ssize(step.decoding);
  counts_.most_pages = std::max(counts_.most_pages, pages_.num_pages() - pages_.num_free());
  return step;
}

void Scheduler::plan_decoding(StepPlan& step, Launch& launch) {
  for (size_t i = 0; i < running_.size(); ++i) {  // an eviction shortens running_
    Sequence& sequence = *running_[i];
    if (!sequence.is_decoding || sequence.length() >= sequence.max_tokens) continue;
    if (!allocate_pages(sequence, sequence.length())) break;
    if (sequence.copy) step.copies.push_back(*sequence.copy);
    sequence.copy.reset();
    send_pages(sequence);
    ++sequence.num_pending;
    step.decoding.push_back({.slot = sequence.slot});
    launch.push_back({sequence.slot, sequence.serial});
  }
}

/// Adds guesses where their rows are expected to cost less time than they save: n sequences and f fixed rows cost n + f
/// per step, so a token costs (n + f) / n, and a guess costs 1.
void Scheduler::add_guesses(StepPlan& step) {
  const auto num_sequences = std::ssize(step.decoding);
  const double least_probability =
      static_cast<double>(num_sequences) / (static_cast<double>(num_sequences) + model_.fixed_rows());
  // Each row needs vocab_size logits: guesses at most double their memory.
  int64_t num_free_rows = std::min(model_.max_rows() - num_sequences, std::max<int64_t>(num_sequences, kLeastGuesses));
  for (DecodingSlot& decoding : step.decoding) {
    Sequence& sequence = *slot_sequences_[decoding.slot];
    decoding.guesses = guesser_->guess(sequence.guessed, std::min(num_free_rows, kMostGuesses), least_probability);
    const auto end = std::ranges::find_if(decoding.guesses, [&](int64_t token) { return ends_response(token); });
    decoding.guesses.resize(most_guesses(sequence, end - decoding.guesses.begin()));
    num_free_rows -= std::ssize(decoding.guesses);
    counts_.guessed += std::ssize(decoding.guesses);
  }
}

/// Returns how many of `count` guesses fit the sequence's token limit and its pages. Takes free pages, but evicts
/// nothing.
int64_t Scheduler::most_guesses(Sequence& sequence, int64_t count) {
  const int64_t length = std::ssize(sequence.ids);
  count = std::min(count, sequence.max_tokens - length - 1);  // the draw behind the last guess fits, too
  const auto room = [&] { return std::ssize(sequence.pages) * pages_.page_size() - length; };
  while (room() < count && has_pages_for(1)) sequence.pages.push_back(*pages_.take());
  send_pages(sequence);
  return std::min(count, room());
}

/// Adds prompt pieces of running sequences, then of new sequences, while the step has room.
void Scheduler::plan_prompts(StepPlan& step, Launch& launch, int64_t num_free_rows) {
  for (size_t i = 0; num_free_rows > 0 && (i < running_.size() || start_next()); ++i) {
    Sequence& sequence = *running_[i];
    if (sequence.is_decoding || sequence.is_follower) continue;
    const int64_t num_reserved = params_.shares_steps ? num_free_rows / 4 : 0;
    PromptPiece piece = next_piece(sequence, num_free_rows - num_reserved);
    num_free_rows -= std::ssize(piece.ids);
    if (sequence.num_computed == std::ssize(sequence.ids)) end_prompt(i, piece, launch);
    step.pieces.push_back(std::move(piece));
  }
  for (PromptPiece& piece : step.pieces) {  // use the room that later prompts left
    const int64_t missing = std::ssize(slot_sequences_[piece.slot]->ids) - slot_sequences_[piece.slot]->num_computed;
    const int64_t count = std::clamp<int64_t>(missing - 1, 0, num_free_rows);
    extend(piece, count);
    num_free_rows -= count;
  }
}

PromptPiece Scheduler::next_piece(Sequence& sequence, int64_t num_free_rows) {
  PromptPiece piece{.slot = sequence.slot, .begin = sequence.num_computed, .ids = {}, .draws = {}};
  extend(piece, std::min(num_free_rows, std::ssize(sequence.ids) - sequence.num_computed));
  return piece;
}

/// Appends the next `count` tokens of the sequence's prompt to the piece.
void Scheduler::extend(PromptPiece& piece, int64_t count) {
  Sequence& sequence = *slot_sequences_[piece.slot];
  const auto begin = sequence.ids.begin() + sequence.num_computed;
  piece.ids.insert(piece.ids.end(), begin, begin + count);
  sequence.num_computed += count;
  counts_.prompt_tokens += count;
}

/// Starts decoding of the leader and its followers; all draw from the piece's last row.
void Scheduler::end_prompt(size_t leader, PromptPiece& piece, Launch& launch) {
  const Sequence& first = *running_[leader];
  if (params_.shares_prefill) pages_.remember(first.ids, first.pages);
  start_decoding(*running_[leader], piece, launch);
  for (size_t i = leader + 1; i < running_.size() && running_[i]->is_follower; ++i) {
    Sequence& follower = *running_[i];
    follower.is_follower = false;
    if (first.pages.back() != follower.pages.back())
      follower.copy = PageCopy{.from = first.pages[follower.pages.size() - 1], .to = follower.pages.back()};
    start_decoding(follower, piece, launch);
  }
}

void Scheduler::start_decoding(Sequence& sequence, PromptPiece& piece, Launch& launch) {
  sequence.is_decoding = true;
  ++sequence.num_pending;
  piece.draws.push_back(sequence.slot);
  launch.push_back({sequence.slot, sequence.serial});
}

/// Gives the next request a slot and pages for its prompt; returns false if it must wait.
bool Scheduler::start_next() {
  if (waiting_.empty() || free_slots_.empty()) return false;
  const int64_t request = waiting_.front();
  std::vector<int64_t> ids = requests_[request].prompt_ids;
  ids.insert(ids.end(), generations_[request].ids.begin(), generations_[request].ids.end());
  std::vector<int32_t> pages;
  // At least the last token is computed: the next one is drawn from its row.
  if (params_.shares_prefill) pages = pages_.find_prefix(std::span(ids).first(ids.size() - 1));
  const int64_t num_found = std::ssize(pages) * pages_.page_size();
  const int64_t missing = pages_for(std::ssize(ids) - num_found, pages_.page_size());
  if (!has_pages_for(missing)) {
    for (const int32_t page : pages) pages_.give_back(page);
    return false;
  }
  for (int64_t i = 0; i < missing; ++i) pages.push_back(*pages_.take());
  Sequence& sequence = add_sequence(std::move(ids), std::move(pages));
  sequence.num_computed = num_found;
  send_pages(sequence);
  counts_.shared_tokens += num_found;
  if (params_.shares_prefill && generations_[request].ids.empty()) start_followers(sequence);
  return true;
}

void Scheduler::start_followers(const Sequence& leader) {
  const int64_t length = std::ssize(leader.ids), num_full_pages = length / pages_.page_size();
  const bool has_tail = length % pages_.page_size() > 0;
  while (!waiting_.empty() && !free_slots_.empty() && has_pages_for(has_tail ? 1 : 0)) {
    const int64_t request = waiting_.front();
    if (!generations_[request].ids.empty() || requests_[request].prompt_ids != leader.ids) break;
    std::vector<int32_t> pages(leader.pages.begin(), leader.pages.begin() + num_full_pages);
    for (const int32_t page : pages) pages_.share(page);
    if (has_tail) pages.push_back(*pages_.take());
    add_sequence(leader.ids, std::move(pages)).is_follower = true;
    counts_.shared_tokens += length;
  }
}

/// Starts a sequence for the request that has waited longest.
Scheduler::Sequence& Scheduler::add_sequence(std::vector<int64_t> ids, std::vector<int32_t> pages) {
  const int64_t request = waiting_.front(), slot = free_slots_.back();
  waiting_.pop_front();
  free_slots_.pop_back();
  const auto prompt = std::exchange(requests_[request].prompt_ids, std::vector<int64_t>());  // `ids` holds a copy
  const auto& drawn = generations_[request].ids;
  running_.push_back(std::make_unique<Sequence>());
  Sequence& sequence = *running_.back();
  sequence.serial = ++last_serial_;
  sequence.request = request;
  sequence.slot = slot;
  sequence.max_tokens = std::min(params_.max_length, std::ssize(prompt) + request_settings(request).max_new_tokens);
  sequence.ids = std::move(ids);
  sequence.pages = std::move(pages);
  slot_sequences_[slot] = &sequence;
  model_.seat(slot, {.generating = request_settings(request),
                     .name = {.seed = requests_[request].seed.value_or(params_.seed),
                              .purpose = params_.purpose,
                              .step = params_.step,
                              .sequence = requests_[request].sequence_id,
                              .position = static_cast<uint32_t>(requests_[request].first_position + std::ssize(drawn))},
                     .prompt = prompt,
                     .drawn = drawn});
  if (guesser_) sequence.guessed = guesser_->begin(prompt, drawn);
  return sequence;
}

/// Returns true if `count` pages are free besides a reserve: one page for each running sequence that can still grow.
bool Scheduler::has_pages_for(int64_t count) const {
  return pages_.num_free() >= count + std::ranges::count_if(running_, [&](const auto& sequence) {
                                return std::ssize(sequence->pages) * pages_.page_size() < sequence->max_tokens - 1;
                              });
}

/// Takes pages until `length` tokens fit, if needed by evicting later sequences; returns false if it evicted
/// `sequence`.
bool Scheduler::allocate_pages(Sequence& sequence, int64_t length) {
  const uint64_t serial = sequence.serial;
  while (std::ssize(sequence.pages) * pages_.page_size() < length) {
    if (const auto page = pages_.take()) {
      sequence.pages.push_back(*page);
      continue;
    }
    const bool is_last = running_.back()->serial == serial;
    evict_last();
    if (is_last) return false;
  }
  return true;
}

void Scheduler::send_pages(Sequence& sequence) {
  const auto new_pages = std::span(sequence.pages).subspan(sequence.num_sent_pages);
  if (!new_pages.empty()) model_.set_pages(sequence.slot, sequence.num_sent_pages, new_pages);
  sequence.num_sent_pages = std::ssize(sequence.pages);
}

/// Evicts the sequence that started last. Its known tokens are computed again when there is room; tokens that a launch
/// still draws for it are dropped.
void Scheduler::evict_last() {
  Sequence& sequence = *running_.back();
  ROLL_CHECK(running_.size() > 1, "one sequence fits the cache");
  remember_computed(sequence);
  const int64_t drawn = std::ssize(generations_[sequence.request].ids);
  requests_[sequence.request].prompt_ids.assign(sequence.ids.begin(), sequence.ids.end() - drawn);
  waiting_.push_front(sequence.request);
  ++counts_.evictions;
  release(sequence);
  running_.pop_back();
}

}  // namespace roll
