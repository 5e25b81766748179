#include "step/experience_dump.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "checkpoint/safetensors.h"
#include "optim/update_trace.h"
#include "step/token_samples.h"

namespace roll {

namespace {

Experience whole_on_first(const RlStep& step, Communicator& learners) {
  return redistribute(step.experience, step.facts, step.home, {{{0}}, {first_numbers(step.facts.num_sequences())}},
                      learners);
}

}  // namespace

void dump_experience(const std::filesystem::path& folder, const RlStep& step, const std::vector<RolloutRecord>& records,
                     Communicator& learners) {
  const Experience e = whole_on_first(step, learners);
  if (!learners.is_first()) return;
  const std::vector<std::pair<const char*, at::Tensor>> columns = {{"response_mask", e.response_mask()},
                                                                   {"final_response_mask", e.final_response_mask()},
                                                                   {"old_log_probs", e.old_log_probs},
                                                                   {"energies", e.energies},
                                                                   {"ref_log_probs", e.ref_log_probs},
                                                                   {"teacher_kl", e.teacher_kl},
                                                                   {"values", e.values},
                                                                   {"token_rewards", e.token_rewards},
                                                                   {"advantages", e.advantages},
                                                                   {"returns", e.returns}};
  std::string lines;
  int64_t sequence = 0;
  for (const RolloutRecord& record : records) {
    if (record.is_baseline) continue;
    Json line = to_json(record);
    for (const auto& [name, tensor] : columns)
      if (tensor.defined()) line[name] = number_list(response_part(e, tensor, sequence));
    lines += to_line(line) + "\n";
    ++sequence;
  }
  make_folder(folder);
  write_file_atomic(numbered(folder, "step_", step.number, ".jsonl"), lines);
}

void dump_updates(const std::filesystem::path& folder, int64_t step, const ByRole<FirstUpdates>& role_updates) {
  FirstUpdates all;
  for (const auto& [role, first] : role_updates) {
    std::ranges::copy(first.gradients, std::back_inserter(all.gradients));
    std::ranges::copy(first.traces, std::back_inserter(all.traces));
  }
  write_safetensors(numbered(folder, "gradients_", step, ".safetensors"), all.gradients);
  write_file_atomic(numbered(folder, "trace_", step, ".json"), chrome_trace(all.traces).dump());
}

}  // namespace roll
