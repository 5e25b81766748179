#include "rollout/scheduler.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <exception>

#include "base/error.h"
#include "dist/agree.h"

namespace roll {

namespace {

/// Fewer rows than this make no task of their own: a task costs about as much as 16k logits.
int64_t rows_per_task(int64_t vocab_size) {
  return std::max<int64_t>(1, 16384 / vocab_size);
}

}  // namespace

Scheduler::Scheduler(StepModel& model, const DecodeText& decode, const std::vector<GenerationRequest>& requests,
                     const SamplingParams& params, const OnGenerated& on_done, const SamplerHooks& hooks)
    : model_(model),
      decode_(decode),
      requests_(requests),
      params_(params),
      on_done_(on_done),
      hooks_(hooks),
      generations_(requests.size()),
      num_waiting_(static_cast<int64_t>(requests.size())),
      samplers_(at::get_num_threads(), RowSampler(params.generating)) {
  const int64_t num_slots = std::min(model.num_slots(), params.max_running_requests);
  for (int64_t slot = num_slots; slot-- > 0;) free_slots_.push_back(slot);
  make_groups();
}

void Scheduler::make_groups() {
  for (int64_t i = 0; i < num_waiting_; ++i) {
    if (i == 0 || !params_.shares_prefill || requests_[i].prompt_ids != requests_[i - 1].prompt_ids) {
      groups_.emplace_back();
      groups_.back().first_request = i;
    }
    ++groups_.back().num_requests;
  }
}

std::vector<Generation> Scheduler::run() {
  while (num_waiting_ > 0 || !running_.empty()) {
    if (hooks_.should_stop && hooks_.should_stop()) {
      abort_all();
      break;
    }
    num_drawn_ = 0;
    if (is_time_to_refill()) refill();
    if (!running_.empty()) decode_step();
    if (hooks_.on_step) hooks_.on_step(num_drawn_);
  }
  return std::move(generations_);
}

/// A prefill of one prompt costs nearly as much as one of several, so it waits until some slots are free.
bool Scheduler::is_time_to_refill() const {
  const auto num_free = static_cast<int64_t>(free_slots_.size());
  const auto num_slots = num_free + static_cast<int64_t>(running_.size());
  return num_waiting_ > 0 && num_free >= std::min(num_waiting_, std::max<int64_t>(1, num_slots / 16));
}

void Scheduler::refill() {
  std::vector<Admission> admissions = plan_admissions();
  const at::Tensor prompt_logits = prefill(admissions);
  copy_prompts(admissions);
  std::vector<const float*> rows;
  const size_t first = running_.size();
  for (const Admission& admission : admissions) {
    Group& group = groups_[admission.group];
    const auto& prompt = requests_[group.first_request].prompt_ids;
    const int64_t room = params_.max_length - static_cast<int64_t>(prompt.size());
    for (const int64_t slot : admission.slots) {
      running_.push_back({.request = group.first_request + group.num_started++,
                          .group = admission.group,
                          .slot = slot,
                          .max_tokens = std::min(room, *params_.generating.max_new_tokens),
                          .history = TokenHistory(params_.generating, prompt),
                          .stops = {}});
      rows.push_back(admission.logits);
    }
  }
  std::vector<Sequence*> sequences;
  for (size_t i = first; i < running_.size(); ++i) sequences.push_back(&running_[i]);
  draw(sequences, rows);
  for (const Admission& admission : admissions) {
    Group& group = groups_[admission.group];
    if (group.num_started == group.num_requests) group.logits.reset();
  }
  remove_done();
}

std::vector<Scheduler::Admission> Scheduler::plan_admissions() {
  std::vector<Admission> admissions;
  int64_t prefill_tokens = 0;
  while (next_group_ < std::ssize(groups_) && !free_slots_.empty()) {
    const Group& group = groups_[next_group_];
    Admission admission{.group = next_group_, .donor = donor_of(next_group_), .slots = {}};
    if (admission.donor < 0) {
      const auto length = static_cast<int64_t>(requests_[group.first_request].prompt_ids.size());
      if (prefill_tokens > 0 && prefill_tokens + length > params_.max_prefill_tokens) break;
      prefill_tokens += length;
    }
    const int64_t left = group.num_requests - group.num_started;
    const int64_t count = std::min(left, static_cast<int64_t>(free_slots_.size()));
    admission.slots.assign(free_slots_.rbegin(), free_slots_.rbegin() + count);
    free_slots_.resize(free_slots_.size() - count);
    num_waiting_ -= count;
    admissions.push_back(std::move(admission));
    if (count == left) ++next_group_;
  }
  return admissions;
}

int64_t Scheduler::donor_of(int64_t group) const {
  if (groups_[group].num_started == 0) return -1;
  const auto found =
      std::find_if(running_.begin(), running_.end(), [&](const Sequence& s) { return s.group == group; });
  return found == running_.end() ? -1 : found->slot;
}

/// Computes the prompts without donor and points every admission at its logits; the result owns those of this call.
at::Tensor Scheduler::prefill(std::vector<Admission>& admissions) {
  std::vector<std::vector<int64_t>> prompts;
  std::vector<int64_t> slots;
  for (const Admission& admission : admissions) {
    if (admission.donor >= 0) continue;
    prompts.push_back(requests_[groups_[admission.group].first_request].prompt_ids);
    slots.push_back(admission.slots[0]);
  }
  at::Tensor logits;
  if (!prompts.empty()) logits = model_.prefill(prompts, slots);
  int64_t row = 0;
  for (Admission& admission : admissions) {
    Group& group = groups_[admission.group];
    if (admission.donor < 0) group.logits = logits.select(0, row++);
    const bool is_split = group.num_started + std::ssize(admission.slots) < group.num_requests;
    if (admission.donor < 0 && is_split) group.logits = group.logits.clone();  // not the whole batch
    admission.logits = group.logits.const_data_ptr<float>();
  }
  return logits;
}

void Scheduler::copy_prompts(const std::vector<Admission>& admissions) {
  for (const Admission& admission : admissions) {
    const auto length = static_cast<int64_t>(requests_[groups_[admission.group].first_request].prompt_ids.size());
    const bool has_donor = admission.donor >= 0;
    const std::span<const int64_t> copies = std::span(admission.slots).subspan(has_donor ? 0 : 1);
    if (!copies.empty()) model_.copy_prefix(has_donor ? admission.donor : admission.slots[0], length, copies);
  }
}

void Scheduler::decode_step() {
  std::vector<int64_t> ids, slots;
  std::vector<Sequence*> sequences;
  for (Sequence& sequence : running_) {
    ids.push_back(generations_[sequence.request].ids.back());
    slots.push_back(sequence.slot);
    sequences.push_back(&sequence);
  }
  const at::Tensor logits = model_.decode(ids, slots);
  const auto* data = logits.const_data_ptr<float>();
  std::vector<const float*> rows;
  for (size_t i = 0; i < sequences.size(); ++i) rows.push_back(data + static_cast<int64_t>(i) * model_.vocab_size());
  draw(sequences, rows);
  remove_done();
}

void Scheduler::draw(std::span<Sequence*> sequences, const std::vector<const float*>& rows) {
  draws_.resize(sequences.size());
  if (Communicator* ranks = model_.ranks()) {
    draw_on_first(*ranks, sequences, rows);
  } else {
    draw_rows(sequences, rows);
  }
  for (size_t i = 0; i < sequences.size(); ++i) accept(*sequences[i], draws_[i]);
  num_drawn_ += std::ssize(sequences);
}

void Scheduler::draw_rows(std::span<Sequence*> sequences, const std::vector<const float*>& rows) {
  const int64_t vocab_size = model_.vocab_size();
  at::parallel_for(0, std::ssize(sequences), rows_per_task(vocab_size), [&](int64_t begin, int64_t end) {
    RowSampler& sampler = samplers_[at::get_thread_num()];
    for (int64_t i = begin; i < end; ++i) {
      const int64_t request = sequences[i]->request;
      const double uniform = random_uniform({.seed = params_.seed,
                                             .purpose = params_.purpose,
                                             .step = params_.step,
                                             .sequence = requests_[request].sequence_id,
                                             .position = static_cast<uint32_t>(generations_[request].ids.size())});
      draws_[i] = sampler.draw({rows[i], static_cast<size_t>(vocab_size)}, sequences[i]->history, uniform);
    }
  });
}

/// The others take the first rank's draws: where the last bit of a logit differs, they could draw another token, and
/// the ranks would part for good.
void Scheduler::draw_on_first(Communicator& ranks, std::span<Sequence*> sequences,
                              const std::vector<const float*>& rows) {
  at::Tensor told = at::full({std::ssize(sequences), 2}, -1.0, at::kDouble);  // token, log-prob; both exact in float64
  auto row = told.accessor<double, 2>();
  std::exception_ptr failure;
  if (ranks.is_first()) try {
      draw_rows(sequences, rows);
      for (int64_t i = 0; i < row.size(0); ++i) {
        row[i][0] = static_cast<double>(draws_[i].token);
        row[i][1] = static_cast<double>(draws_[i].log_prob);
      }
    } catch (...) {
      failure = std::current_exception();  // the others wait for the broadcast, and are told by its -1
    }
  ranks.broadcast(told, 0, "drawn tokens");
  if (failure) std::rethrow_exception(failure);
  if (row[0][0] < 0) throw AnotherRankFailed(0, 1);
  for (int64_t i = 0; i < row.size(0); ++i)
    draws_[i] = {.token = static_cast<int64_t>(row[i][0]), .log_prob = static_cast<float>(row[i][1])};
}

void Scheduler::accept(Sequence& sequence, const Draw& draw) {
  Generation& generation = generations_[sequence.request];
  generation.ids.push_back(draw.token);
  generation.log_probs.push_back(draw.log_prob);
  sequence.history.add(draw.token);
  const auto& stops = params_.generating.stop_strings;
  if (!params_.ignore_eos && std::ranges::find(params_.eos_ids, draw.token) != params_.eos_ids.end()) {
    finish(sequence, FinishReason::kStop);
  } else if (!stops.empty() && sequence.stops.found(generation.ids, stops, decode_)) {
    finish(sequence, FinishReason::kStopString);
  } else if (std::ssize(generation.ids) == sequence.max_tokens) {
    finish(sequence, FinishReason::kLength);
  }
}

void Scheduler::finish(Sequence& sequence, FinishReason reason) {
  Generation& generation = generations_[sequence.request];
  generation.finish_reason = reason;
  generation.text = text_of(generation);
  sequence.is_done = true;
  model_.release(sequence.slot);
  free_slots_.push_back(sequence.slot);
  if (on_done_) on_done_(sequence.request, generation);
}

void Scheduler::remove_done() {
  std::erase_if(running_, [](const Sequence& sequence) { return sequence.is_done; });
}

void Scheduler::abort_all() {
  for (Sequence& sequence : running_) finish(sequence, FinishReason::kAbort);
  running_.clear();
}

std::string Scheduler::text_of(const Generation& generation) const {
  const GeneratingArgs& args = params_.generating;
  std::string text = decode_(generation.ids, args.skip_special_tokens);
  if (generation.finish_reason != FinishReason::kStopString) return text;
  if (const auto stop = find_stop(text, args.stop_strings))
    text.resize(args.include_stop_str_in_output ? stop->end : stop->begin);
  return text;
}

}  // namespace roll
