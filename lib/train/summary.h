// Texts that describe a training or evaluation: its models, its metrics, its results.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/log.h"
#include "records/rollout_record.h"
#include "step/roles.h"
#include "track/screen_frame.h"

namespace roll {

/// Returns "policy: qwen2, 1.3 M parameters, float32 on cpu".
std::string describe_policy(const Roles& roles, const Config& config, at::Device device);
/// Returns describe_policy() with "; reference: yes", "; teachers: N" and "; critic: yes" as configured.
std::string describe_roles(const Roles& roles, const Config& config, at::Device device);

/// Returns the metrics that a run shows on the screen. `roles`: describe_roles().
RunFace describe_run(const Config& config, const std::string& roles);

/// Returns a response as the screen and the log show it.
ShownSample make_shown_sample(const RolloutRecord& record, bool is_validation);
/// Returns up to three informative samples: the first, the worst other, and the best other if it is better.
std::vector<ShownSample> informative_samples(const std::vector<RolloutRecord>& validated);

/// Scores of a run's steps and validations so far.
struct History {
  std::vector<double> scores;     // mean score per step
  std::vector<double> validated;  // share of right responses per validation
};
Json to_json(const History& history);
History history_from(const Json& json);
/// Logs the curve of scores, and the first and last validation.
void log_history(const History& history, Log& log);

}  // namespace roll
