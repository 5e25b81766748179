// What a run says of itself in words: its models, its metrics, how it went.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/log.h"
#include "train/roles.h"

namespace roll {

/// "policy qwen2, 1.3 M parameters, float32 on cpu; with a reference; with a critic".
std::string describe_roles(const Roles& roles, const Config& config, at::Device device);

/// What standard output shows of an RLVR step.
std::vector<std::string> rlvr_headline();

/// The steps' and validations' scores of a run so far.
struct History {
  std::vector<double> scores;     // mean score of each step
  std::vector<double> validated;  // share of right responses of each validation
};
Json to_json(const History& history);
History history_from(const Json& json);
/// The curve of the scores, and the first and the last validation.
void tell_history(const History& history, Log& log);

}  // namespace roll
