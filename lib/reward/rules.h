// The reward types by themselves; make_reward() adds what they share. Each factory throws UserError on bad options.
#pragma once

#include "reward/reward.h"

namespace roll {

/// 1 when the answer in the response equals the ground truth as mathematics (math/compare.h), else 0. Detail: "answer",
/// "source" (boxed | phrase | latex | number | none), "rule" (which comparison decided).
std::unique_ptr<RewardFunction> make_math_rule(const RewardArgs& args, const std::string& where);

/// 1 when the text (whole, its last line, or what follows the last marker) equals the ground truth, both stripped.
std::unique_ptr<RewardFunction> make_exact_match(const RewardArgs& args, const std::string& where);

/// 1 when `pattern` matches and its last match's first group, stripped, equals the ground truth.
std::unique_ptr<RewardFunction> make_regex(const RewardArgs& args, const std::string& where);

/// Whatever an external program says. It is started once per RewardFunction, reads one JSON line per response
/// {"prompt", "response", "ground_truth", "tag", "domain", "finish_reason", "num_response_tokens", "row"} and answers
/// with
/// {"reward": x, "detail": {}}. Past the time limit its process group is killed and it is started again.
std::unique_ptr<RewardFunction> make_command(const RewardArgs& args, const std::string& where);

}  // namespace roll
