// Makes texts for the terminal and log of a training (rlvr.cpp) or evaluation (evaluation.cpp): models, metrics to
// show, samples, results.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/log.h"
#include "records/rollout_record.h"
#include "settings/config.h"
#include "step/roles.h"
#include "track/screen_frame.h"

namespace roll {

/// Returns "policy: qwen2, 1.3 M parameters, float32 on cpu".
std::string describe_policy(const Roles& roles, const Config& config, at::Device device);
/// Returns the text of describe_policy() followed by "; reference: yes", "; teachers: N" and "; critic: yes", as
/// configured.
std::string describe_roles(const Roles& roles, const Config& config, at::Device device);

/// Returns the name, algorithm and metrics that a run shows on the terminal. roles: result of describe_roles() or
/// describe_policy().
RunFace describe_run(const Config& config, const std::string& roles);

/// Returns a response as the terminal and the log show it. is_validation: it belongs to a validation, not to training.
ShownSample make_shown_sample(const RolloutRecord& record, bool is_validation);
/// Returns up to three of these validation responses: the first; of the others, the judged one with the lowest score,
/// and the judged one with the highest score if that is higher.
std::vector<ShownSample> informative_samples(const std::vector<RolloutRecord>& validated);

/// Scores of a run's steps and validations so far, stored in checkpoints.
struct History {
  std::vector<double> scores;     // mean score of each step
  std::vector<double> validated;  // share of right responses in each unnamed validation
};
Json to_json(const History& history);
/// Returns the History that to_json() wrote.
History history_from(const Json& json);
/// Logs a plot of the scores, and the first and last validation; each only if there are at least two values.
void log_history(const History& history, Log& log);

}  // namespace roll
