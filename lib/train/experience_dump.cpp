#include "train/experience_dump.h"

#include <ATen/ATen.h>

#include "base/file.h"
#include "checkpoint/safetensors.h"
#include "optim/update_trace.h"

namespace roll {

namespace {

Json numbers(const at::Tensor& tensor) {
  const at::Tensor values = tensor.to(at::kCPU, at::kFloat).contiguous();
  const float* data = values.const_data_ptr<float>();
  Json list = Json::array();
  for (int64_t i = 0; i < values.numel(); ++i) list.push_back(json_float(data[i]));
  return list;
}

}  // namespace

void dump_experience(const std::filesystem::path& folder, int64_t step, const std::vector<RolloutRecord>& records,
                     const Experience& e) {
  const std::vector<std::pair<const char*, at::Tensor>> columns = {{"response_mask", e.response_mask()},
                                                                   {"final_response_mask", e.final_response_mask()},
                                                                   {"old_log_probs", e.old_log_probs},
                                                                   {"ref_log_probs", e.ref_log_probs},
                                                                   {"values", e.values},
                                                                   {"token_rewards", e.token_rewards},
                                                                   {"advantages", e.advantages},
                                                                   {"returns", e.returns}};
  std::string lines;
  for (size_t s = 0; s < records.size(); ++s) {
    Json line = to_json(records[s]);
    for (const auto& [name, tensor] : columns)
      if (tensor.defined()) line[name] = numbers(response_part(e, tensor, static_cast<int64_t>(s)));
    lines += to_line(line) + "\n";
  }
  make_folder(folder);
  write_file_atomic(numbered(folder, "step_", step, ".jsonl"), lines);
}

void dump_updates(const std::filesystem::path& folder, int64_t step, const FirstUpdates& first) {
  write_safetensors(numbered(folder, "gradients_", step, ".safetensors"), first.gradients);
  write_file_atomic(numbered(folder, "trace_", step, ".json"), chrome_trace(first.traces).dump());
}

}  // namespace roll
