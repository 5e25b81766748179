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

/// The program is started once per RewardFunction and reads one JSON line per response
///   {"id", "prompt", "messages", "response", "ground_truth", "tag", "domain", "finish_reason", "num_response_tokens",
///   "row"}
/// and answers each, before it is asked the next, with one line of at most 1 MiB
///   {"id": the question's, "reward": x, "detail": {}}  or  {"id": the question's, "error": "why there is none"}
/// The id may be left out; with it, whatever else the program prints is never taken for an answer. Anything but answers
/// belongs on standard error.
/// An answer that fails is a reward of 0 with detail {"error": why}: the program passes the time limit ("timeout"),
/// ends, or its line is no such object; it is then killed with all that it started, and started again. UserError: no
/// program; when prepared: one that may not be executed; when scoring: output that nobody asked for, an answer to
/// another question, a first answer that fails, 32 failures in a row (time-outs do not count).
std::unique_ptr<RewardFunction> make_command(const CommandArgs& args, const RuleContext& context);

}  // namespace roll
