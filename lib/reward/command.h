// Type command: whatever an external program says.
#pragma once

#include <vector>

#include "reward/rule.h"

namespace roll {

struct CommandArgs {
  std::vector<std::string> command;

  template <class V>
  void fields(V& v) {
    v("command", command, "program and arguments; JSON lines in, JSON lines out");
  }
};

/// The program is started once per RewardFunction, reads one JSON line per response
///   {"prompt", "response", "ground_truth", "tag", "domain", "finish_reason", "num_response_tokens", "row"}
/// and answers each with {"reward": x, "detail": {}}. Past the time limit its process group is killed and it is started
/// again. UserError: no command; when scoring: a program that cannot be started, ends, or answers anything else.
std::unique_ptr<RewardFunction> make_command(const CommandArgs& args, const RuleContext& context);

}  // namespace roll
