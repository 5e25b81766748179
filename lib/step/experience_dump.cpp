#include "step/experience_dump.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "checkpoint/safetensors.h"
#include "dist/messages.h"
#include "optim/update_trace.h"
#include "records/messages.h"

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

void broadcast(FirstUpdates& of_role, RoleMesh& role) {
  if (role.is_everywhere()) return;
  FirstUpdateMessage mine;
  std::vector<at::Tensor> parts{at::empty({0})};
  for (const auto& [name, gradient] : of_role.gradients) {
    mine.gradients.push_back({name, gradient.sizes().vec()});
    parts.push_back(gradient.to(at::kFloat).flatten());
  }
  for (const auto& [name, trace] : of_role.traces) mine.traces.push_back({name, trace});
  const FirstUpdateMessage message = broadcast_message(mine, role);
  int64_t numel = 0;
  for (const auto& [name, shape] : message.gradients) numel += c10::multiply_integers(shape);
  at::Tensor flat = role.is_here() ? at::cat(parts) : at::empty({numel});
  role.broadcast(flat, "gradients of a first update");
  of_role = {};
  for (const auto& [name, shape] : message.gradients) {
    const int64_t size = c10::multiply_integers(shape);
    of_role.gradients.emplace_back(name, flat.narrow(0, 0, size).view(shape));
    flat = flat.narrow(0, size, flat.numel() - size);
  }
  for (const auto& [name, trace] : message.traces) of_role.traces.emplace_back(name, trace);
}

void dump_updates(const std::filesystem::path& folder, int64_t step, std::vector<FirstUpdates> of_roles) {
  FirstUpdates all;
  for (FirstUpdates& of_role : of_roles) {
    std::ranges::move(of_role.gradients, std::back_inserter(all.gradients));
    std::ranges::move(of_role.traces, std::back_inserter(all.traces));
  }
  write_safetensors(numbered(folder, "gradients_", step, ".safetensors"), all.gradients);
  write_file_atomic(numbered(folder, "trace_", step, ".json"), chrome_trace(all.traces).dump());
}

}  // namespace roll
