// Reward type command: an external program of the user scores responses.
#pragma once

#include <vector>

#include "config/keys.h"
#include "reward/rule.h"

namespace roll {

/// Keys of the type.
struct CommandArgs {
  std::vector<std::string> command;

  void fields(Keys& v) {
    v("command", command,
      "program and arguments; {\"id\", \"response\", ...} lines in, {\"id\", \"reward\", \"detail\"} out");
  }
};

/// Makes a reward that asks an external program; each RewardFunction (one per worker thread) starts its own copy. The
/// program reads one JSON line per response from standard input
///   {"id", "prompt", "messages", "response", "ground_truth", "tag", "domain", "finish_reason", "num_response_tokens",
///   "row"}
/// and answers with one line of at most 1 MiB on standard output, before it gets the next question:
///   {"id": the question's, "reward": x, "detail": {}}  or  {"id": the question's, "error": "why there is no reward"}
/// x is also the score. "id" and "detail" are optional. The program must print nothing else; it may log to standard
/// error.
/// The result is a failed reward (reward.h) if the program answers "error", exceeds timeout_s, ends, or answers with
/// anything else. Except after "error", it is then killed with all its descendants and started again.
/// Throws UserError if the command is empty. check_files() and prepare() throw UserError if the program does not exist
/// or may not be executed. score() throws UserError if the program prints a line before a question or for another
/// question, if its first answer is a failure, or after 32 failures in a row; timeouts do not count as failures here.
std::unique_ptr<RewardFunction> make_command(const CommandArgs& args, const RuleContext& context);

}  // namespace roll
