// Continuous batching: which sequences hold the slots, and what happens to each after every step.
// Requests start in order. Neighbours with the same prompt form a group, which is prefilled once: its other members
// copy the prompt's keys and values, also from a member that is already further on. Legend: V vocabulary.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "rollout/row_sampling.h"
#include "rollout/sampler.h"
#include "rollout/stop_strings.h"

namespace roll {

class Scheduler {
 public:
  /// All arguments must outlive the scheduler. Requests must have been checked (sampler.cpp).
  Scheduler(StepModel& model, const DecodeText& decode, const std::vector<GenerationRequest>& requests,
            const SamplingParams& params, const OnGenerated& on_done, const SamplerHooks& hooks);

  std::vector<Generation> run();

 private:
  struct Group {
    int64_t first_request = 0, num_requests = 0;
    int64_t num_started = 0;
    at::Tensor logits;  // [V] after the prompt, while some members have not started
  };
  struct Sequence {
    int64_t request = 0, group = 0, slot = 0;
    int64_t max_tokens = 0;  // of the response
    TokenHistory history;
    StopWatcher stops;
    bool is_done = false;
  };
  /// Members of one group that start together; slots are taken.
  struct Admission {
    int64_t group = 0;
    int64_t donor = -1;  // slot that already holds the prompt; -1: slots[0] is to be prefilled
    std::vector<int64_t> slots;
    const float* logits = nullptr;  // [V]
  };

  void make_groups();
  bool is_time_to_refill() const;
  void refill();
  std::vector<Admission> plan_admissions();
  int64_t donor_of(int64_t group) const;
  at::Tensor prefill(std::vector<Admission>& admissions);
  void copy_prompts(const std::vector<Admission>& admissions);
  void decode_step();
  void draw(std::span<Sequence*> sequences, const std::vector<const float*>& rows);
  void draw_rows(std::span<Sequence*> sequences, const std::vector<const float*>& rows);
  void draw_on_first(Communicator& ranks, std::span<Sequence*> sequences, const std::vector<const float*>& rows);
  void accept(Sequence& sequence, const Draw& draw);
  void finish(Sequence& sequence, FinishReason reason);
  void abort_all();
  void remove_done();
  std::string text_of(const Generation& generation) const;

  StepModel& model_;
  const DecodeText& decode_;
  const std::vector<GenerationRequest>& requests_;
  const SamplingParams& params_;
  const OnGenerated& on_done_;
  const SamplerHooks& hooks_;

  std::vector<Generation> generations_;
  std::vector<Group> groups_;
  int64_t next_group_ = 0;  // the first with members that have not started
  int64_t num_waiting_ = 0;
  std::vector<int64_t> free_slots_;
  std::vector<Sequence> running_;
  std::vector<RowSampler> samplers_;  // one per thread
  std::vector<Draw> draws_;
  int64_t num_drawn_ = 0;  // in this step
};

}  // namespace roll
