// What a run says of itself in words: its models, its metrics, how it went.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/log.h"
#include "records/rollout_record.h"
#include "step/roles.h"
#include "track/screen_frame.h"

namespace roll {

/// "policy qwen2, 1.3 M parameters, float32 on cpu".
std::string describe_policy(const Roles& roles, const Config& config, at::Device device);
/// "policy qwen2, 1.3 M parameters, float32 on cpu; with a reference; with a critic".
std::string describe_roles(const Roles& roles, const Config& config, at::Device device);

/// What a run shows of itself while it runs. `roles`: describe_roles().
RunFace face_of(const Config& config, const std::string& roles);

ShownSample sample_of(const RolloutRecord& record, bool is_validation);
/// Up to three that say the most: the first, whatever became of it, the first other that is wrong, and the first other
/// that is right.
std::vector<ShownSample> informative_samples(const std::vector<RolloutRecord>& validated);

/// The steps' and validations' scores of a run so far.
struct History {
  std::vector<double> scores;     // mean score of each step
  std::vector<double> validated;  // share of right responses of each validation
};
Json to_json(const History& history);
History history_from(const Json& json);
/// The curve of the scores, and the first and the last validation.
void log_history(const History& history, Log& log);

}  // namespace roll
