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
      guesser_(model.takes_guesses() ? params.guesser.get() : nullptr),
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

void Scheduler::remember_computed(const Sequence& sequence) {
  if (!params_.shares_prefill || !sequence.is_decoding) return;
  const int64_t num_computed = std::ssize(sequence.ids) - (sequence.num_pending == 0 ? 1 : 0);
  pages_.remember(std::span(sequence.ids).first(num_computed), sequence.pages);
}

void Scheduler::take_drawn() {
  const std::vector<Drawn> drawn = model_.collect();
  const Launch launch = std::move(launched_.front());
  launched_.pop_front();
  size_t next = 0;
  for (const DrawingSlot& drawing : launch) {
    const int64_t slot = drawing.slot;
    ROLL_CHECK(next < drawn.size() && drawn[next].slot == slot, "every slot of the plan draws");
    const auto is_running = [&] { return slot_sequences_[slot] && slot_sequences_[slot]->serial == drawing.serial; };
    if (is_running()) --slot_sequences_[slot]->num_pending;
    for (const size_t first = next; next < drawn.size() && drawn[next].slot == slot; ++next) {
      if (!is_running()) continue;
      append_token(*slot_sequences_[slot], drawn[next]);
      counts_.guessed_right += next > first ? 1 : 0;
    }
  }
  std::erase_if(running_, [&](const auto& sequence) { return slot_sequences_[sequence->slot] != sequence.get(); });
}

void Scheduler::append_token(Sequence& sequence, const Drawn& drawn) {
  Generation& generation = generations_[sequence.request];
  generation.ids.push_back(drawn.token);
  generation.log_probs.push_back(drawn.log_prob);
  generation.processed_log_probs.push_back(drawn.processed_log_prob);
  sequence.ids.push_back(drawn.token);
  if (guesser_) guesser_->add(sequence.guessed, drawn.token);
  ++num_drawn_;
  if (hooks_.on_token) hooks_.on_token(sequence.request, generation);
  const auto& stops = request_settings(sequence.request).stop_strings;
  if (ends_response(drawn.token))
    finish(sequence, FinishReason::kStop);
  else if (!stops.empty() && sequence.stops.has_stop(turn_ids(sequence.request), stops, decode_))
    finish(sequence, FinishReason::kStopString);
  else if (std::ssize(sequence.ids) == sequence.max_tokens)
    finish(sequence, FinishReason::kLength);
}

bool Scheduler::ends_response(int64_t token) const {
  return !params_.ignore_eos && std::ranges::find(params_.eos_ids, token) != params_.eos_ids.end();
}

void Scheduler::finish(Sequence& sequence, FinishReason reason) {
  Generation& generation = generations_[sequence.request];
  generation.finish_reason = reason;
  generation.text = generated_text(sequence.request);
  if (sequence.is_decoding) {
    std::vector<int32_t> pages = sequence.pages;
    if (sequence.copy) std::ranges::replace(pages, sequence.copy->to, sequence.copy->from);  // not copied yet
    generation.routed_experts = model_.routed_experts(pages, std::ssize(sequence.ids) - 1);
  }
  if (params_.continues_responses) remember_computed(sequence);
  release(sequence);
  free_request_data(sequence.request);
  if (on_done_) on_done_(sequence.request, generation);
}

/// Frees slot and pages. The last pages go first, so that the prefix cache keeps the beginning of a text longest.
void Scheduler::release(Sequence& sequence) {
  if (guesser_) guesser_->end(sequence.guessed);
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
