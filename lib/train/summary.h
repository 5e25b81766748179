// What a run says of itself: its models in words, throughput numbers per step.
#pragma once

#include <string>

#include "experience/experience.h"
#include "track/metrics.h"
#include "train/roles.h"

namespace roll {

/// "policy qwen2, 1.3 M parameters, float32 on cpu; with a reference; with a critic".
std::string describe_roles(const Roles& roles, at::Device device);

/// Adds the counts that throughput is made of: system/{num_tokens,num_sequences} of the step.
void add_token_counts(const Experience& step, Metrics& metrics);

/// Floating-point operations of training on the step once: forward and backward of every sequence, of whose tokens only
/// those of responses go through the lm head; recomputation is not counted.
double training_flops(const Experience& step, const ModelSpec& spec, bool with_lm_head);

/// What standard output shows of an RLVR step.
std::vector<std::string> rlvr_headline();

/// system/{global_step,samples,tps} and perf/tokens_per_s_per_rank from the counts and the step's seconds.
void add_system_metrics(int64_t step, double seconds, int num_ranks, Metrics& metrics);

}  // namespace roll
