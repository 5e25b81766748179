#include "train/experience_dump.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

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

Json to_json(const UpdateTrace& trace) {
  Json buckets = Json::array();
  for (const BucketTrace& b : trace.buckets) buckets.push_back({b.bucket, b.bytes, b.ready_s, b.begin_s, b.end_s});
  return {{"times", {trace.begin_s, trace.last_begin_s, trace.last_end_s, trace.reduced_s, trace.end_s}},
          {"buckets", buckets}};
}

UpdateTrace trace_from(const Json& json) {
  const auto times = json["times"].get<std::vector<double>>();
  UpdateTrace trace{times[0], times[1], times[2], times[3], times[4]};
  for (const Json& b : json["buckets"])
    trace.buckets.push_back(
        {b[0].get<int64_t>(), b[1].get<int64_t>(), b[2].get<double>(), b[3].get<double>(), b[4].get<double>()});
  return trace;
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

void tell(FirstUpdates& of_role, RoleMesh& role) {
  if (role.is_everywhere()) return;
  Json names = Json::array(), traces = Json::array();
  std::vector<at::Tensor> parts{at::empty({0})};
  for (const auto& [name, gradient] : of_role.gradients) {
    names.push_back({{"name", name}, {"shape", gradient.sizes().vec()}});
    parts.push_back(gradient.to(at::kFloat).flatten());
  }
  for (const auto& [name, trace] : of_role.traces) traces.push_back({{"name", name}, {"trace", to_json(trace)}});
  const Json told =
      parse_json(role.tell_bytes(to_line({{"names", names}, {"traces", traces}}), "a first update"), "a first update");
  int64_t numel = 0;
  for (const Json& entry : told["names"]) numel += c10::multiply_integers(entry["shape"].get<std::vector<int64_t>>());
  at::Tensor flat = role.is_here() ? at::cat(parts) : at::empty({numel});
  role.tell(flat, "gradients of a first update");
  of_role = {};
  for (const Json& entry : told["names"]) {
    const auto shape = entry["shape"].get<std::vector<int64_t>>();
    const int64_t size = c10::multiply_integers(shape);
    of_role.gradients.emplace_back(entry["name"].get<std::string>(), flat.narrow(0, 0, size).view(shape));
    flat = flat.narrow(0, size, flat.numel() - size);
  }
  for (const Json& entry : told["traces"])
    of_role.traces.emplace_back(entry["name"].get<std::string>(), trace_from(entry["trace"]));
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
