#include "rollout/scheduler.h"

#include <algorithm>

#include "base/error.h"

namespace roll {

Scheduler::Scheduler(StepModel& model, PagePool& pages, const DecodeText& decode, const SamplingParams& params,
                     const OnGenerated& on_done, const SamplerHooks& hooks)
    : model_(model),
      pages_(pages),
      decode_(decode),
      params_(params),
      on_done_(on_done),
      hooks_(hooks),
      slot_sequences_(model.num_slots()) {
  const int64_t num_slots = std::min(model.num_slots(), params.max_running_requests);
  for (int64_t slot = num_slots; slot-- > 0;) free_slots_.push_back(slot);
  counts_.num_slots = num_slots;
  counts_.num_pages = pages.num_pages();
}

void Scheduler::add(std::vector<GenerationRequest> requests) {
  for (GenerationRequest& request : requests) {
    check(request);
    ROLL_CHECK(request.seed || sequence_ids_.insert(request.sequence_id).second,
               "two responses would share their random numbers");
    waiting_.push_back(std::ssize(requests_));
    generations_.push_back(std::move(request.begun));
    generations_.back().routed_experts.clear();  // set again at the end
    requests_.push_back(std::move(request));
  }
}

void Scheduler::check(const GenerationRequest& request) const {
  const auto& prompt = request.prompt_ids;
  const auto number = requests_.size();
  if (prompt.empty()) throw user_error("request {}: its prompt has no token; sampling needs at least one", number);
  if (std::ssize(prompt) >= params_.max_length)
    throw user_error(
        "request {}: its prompt has {} tokens: no room for a response within {}; shorten it or raise the limit", number,
        prompt.size(), params_.max_length);
  const auto unknown = std::ranges::find_if(prompt, [&](int64_t id) { return id < 0 || id >= model_.vocab_size(); });
  if (unknown != prompt.end())
    throw user_error("request {}: its prompt holds token id {}, the model has 0..{}; use the model's own tokenizer",
                     number, *unknown, model_.vocab_size() - 1);
}

std::vector<Generation> Scheduler::run(RequestSource* source) {
  while (true) {
    if (source && !apply_changes(*source)) source = nullptr;
    if (waiting_.empty() && running_.empty()) {
      if (!source) break;
      continue;
    }
    if (hooks_.should_stop && hooks_.should_stop()) {
      abort_all();
      break;
    }
    step();
  }
  while (!launched_.empty()) take_drawn();
  return std::move(generations_);
}

/// Applies the source's changes; returns false if there will be no more.
bool Scheduler::apply_changes(RequestSource& source) {
  RequestSource::Change change = source.next(
      {.waiting = waiting_, .num_running = std::ssize(running_), .num_free_slots = std::ssize(free_slots_)});
  for (const int64_t request : change.cancelled) cancel(request);
  add(std::move(change.requests));
  if (change.pauses) pause();
  return !change.is_last && !change.pauses;
}

/// Collects the launched steps first: their tokens are drawn with the weights of the launch.
void Scheduler::pause() {
  while (!launched_.empty()) take_drawn();
  for (const auto& sequence : running_) release(*sequence);
  running_.clear();
  waiting_.clear();
}

void Scheduler::cancel(int64_t request) {
  if (!requests_.at(request).seed) sequence_ids_.erase(requests_[request].sequence_id);
  if (std::erase(waiting_, request) > 0) return free_request_data(request);
  const auto found = std::ranges::find(running_, request, &Sequence::request);
  if (found == running_.end()) return;
  if (!(*found)->is_decoding && !(*found)->is_follower) hand_over_prompt(found - running_.begin());
  release(**found);
  running_.erase(found);
  free_request_data(request);
}

/// Frees request data that an ended response does not need.
void Scheduler::free_request_data(int64_t request) {
  requests_[request].prompt_ids = std::vector<int64_t>();  // `= {}` would keep its memory
  requests_[request].generating.reset();
}

/// Makes the first follower of `leader` compute their prompt, starting behind the shared full pages at the latest.
void Scheduler::hand_over_prompt(size_t leader) {
  if (leader + 1 == running_.size() || !running_[leader + 1]->is_follower) return;
  Sequence& new_leader = *running_[leader + 1];
  const int64_t num_shared = std::ssize(new_leader.ids) / pages_.page_size() * pages_.page_size();
  new_leader.is_follower = false;
  new_leader.num_computed = std::min(running_[leader]->num_computed, num_shared);
  send_pages(new_leader);
}

void Scheduler::step() {
  num_drawn_ = 0;
  Launch launch;
  const StepPlan step = plan(launch);
  ROLL_CHECK(!step.is_empty() || !launched_.empty(), "what waits can go on");
  if (!step.is_empty()) {
    model_.launch(step);
    launched_.push_back(std::move(launch));
  }
  if (step.is_empty() || std::ssize(launched_) > model_.depth()) take_drawn();
  counts_.drawn += num_drawn_;
  if (hooks_.on_step) hooks_.on_step(num_drawn_);
}

StepPlan Scheduler::plan(Launch& launch) {
  StepPlan step;
  Launch decoding;
  plan_decoding(step, decoding);
  plan_prompts(step, launch, model_.max_rows() - std::ssize(step.decoding));
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
    step.decoding.push_back(sequence.slot);
    launch.push_back({sequence.slot, sequence.serial});
  }
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

void Scheduler::remember_computed(const Sequence& sequence) {
  if (!params_.shares_prefill || !sequence.is_decoding) return;
  const int64_t num_computed = std::ssize(sequence.ids) - (sequence.num_pending == 0 ? 1 : 0);
  pages_.remember(std::span(sequence.ids).first(num_computed), sequence.pages);
}

void Scheduler::take_drawn() {
  const std::vector<Drawn> drawn = model_.collect();
  const Launch launch = std::move(launched_.front());
  launched_.pop_front();
  ROLL_CHECK_EQ(drawn.size(), launch.size(), "every slot of the plan draws");
  for (size_t i = 0; i < drawn.size(); ++i) {
    Sequence* const sequence = slot_sequences_[launch[i].slot];
    if (sequence && sequence->serial == launch[i].serial) append_token(*sequence, drawn[i]);
  }
  std::erase_if(running_, [&](const auto& sequence) { return slot_sequences_[sequence->slot] != sequence.get(); });
}

void Scheduler::append_token(Sequence& sequence, const Drawn& drawn) {
  Generation& generation = generations_[sequence.request];
  generation.ids.push_back(drawn.token);
  generation.log_probs.push_back(drawn.log_prob);
  generation.processed_log_probs.push_back(drawn.processed_log_prob);
  sequence.ids.push_back(drawn.token);
  --sequence.num_pending;
  ++num_drawn_;
  if (hooks_.on_token) hooks_.on_token(sequence.request, generation);
  const auto& stops = request_settings(sequence.request).stop_strings;
  if (!params_.ignore_eos && std::ranges::find(params_.eos_ids, drawn.token) != params_.eos_ids.end())
    finish(sequence, FinishReason::kStop);
  else if (!stops.empty() && sequence.stops.has_stop(turn_ids(sequence.request), stops, decode_))
    finish(sequence, FinishReason::kStopString);
  else if (std::ssize(sequence.ids) == sequence.max_tokens)
    finish(sequence, FinishReason::kLength);
}

void Scheduler::finish(Sequence& sequence, FinishReason reason) {
  Generation& generation = generations_[sequence.request];
  generation.finish_reason = reason;
  generation.text = generated_text(sequence.request);
  if (sequence.is_decoding)
    generation.routed_experts = model_.routed_experts(sequence.slot, std::ssize(sequence.ids) - 1);
  if (params_.continues_responses) remember_computed(sequence);
  release(sequence);
  free_request_data(sequence.request);
  if (on_done_) on_done_(sequence.request, generation);
}

/// Frees slot and pages. The last pages go first, so that the prefix cache keeps the beginning of a text longest.
void Scheduler::release(Sequence& sequence) {
  for (size_t i = sequence.pages.size(); i-- > 0;) pages_.give_back(sequence.pages[i]);
  sequence.pages.clear();
  slot_sequences_[sequence.slot] = nullptr;
  free_slots_.push_back(sequence.slot);
}

void Scheduler::abort_all() {
  for (const auto& sequence : running_) finish(*sequence, FinishReason::kAbort);
  running_.clear();
  // Evicted requests wait again but already have tokens.
  for (const int64_t request : waiting_) {
    if (turn_ids(request).empty()) continue;
    generations_[request].text = generated_text(request);
    if (on_done_) on_done_(request, generations_[request]);
  }
}

/// Response ids without tokens of earlier turns.
std::span<const int64_t> Scheduler::turn_ids(int64_t request) const {
  return std::span(generations_[request].ids).subspan(requests_[request].num_earlier_tokens);
}

std::string Scheduler::generated_text(int64_t request) const {
  const SamplingSettings& args = request_settings(request);
  std::string text = decode_(turn_ids(request), args.skip_special_tokens);
  if (generations_[request].finish_reason != FinishReason::kStopString) return text;
  if (const auto stop = find_stop(text, args.stop_strings))
    text.resize(args.include_stop_str_in_output ? stop->end : stop->begin);
  return text;
}

const SamplingSettings& Scheduler::request_settings(int64_t request) const {
  return requests_[request].generating ? *requests_[request].generating : params_.generating;
}

}  // namespace roll
