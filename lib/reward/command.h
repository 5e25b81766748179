// Type command: an external program scores responses.
#pragma once

#include <vector>

#include "config/keys.h"
#include "reward/rule.h"

namespace roll {

struct CommandArgs {
  std::vector<std::string> command;

  void fields(Keys& v) {
    v("command", command,
      "program and arguments; {\"id\", \"response\", ...} lines in, {\"id\", \"reward\", \"detail\"} out");
  }
};

/// Makes a reward that asks an external program, started once per RewardFunction. It reads one JSON line per response
///   {"id", "prompt", "messages", "response", "ground_truth", "tag", "domain", "finish_reason", "num_response_tokens",
///   "row"}
/// and answers it with one line of at most 1 MiB before it is asked the next:
///   {"id": the question's, "reward": x, "detail": {}}  or  {"id": the question's, "error": "why there is none"}
/// The answer's id is optional; with it, other output is never taken for an answer. Log to standard error instead.
/// A failed answer is a reward of 0 with detail {"error": why}: the program exceeds the time limit ("timeout"), ends,
/// or writes something else. It is then killed with all descendants and started again. UserError: no program; in
/// prepare(): it may not be executed; in score(): output before a question or for another question, a failed first
/// answer, or 32 failures in a row (timeouts do not count).
std::unique_ptr<RewardFunction> make_command(const CommandArgs& args, const RuleContext& context);

}  // namespace roll
