// Interface of a judge that answers chat messages with text, for llm_judge.h: an OpenAI-compatible server
// (api_judge.cpp) or a program (command_judge.cpp).
#pragma once

#include <memory>
#include <variant>

#include "base/json.h"
#include "reward/llm_judge.h"
#include "reward/reward.h"

namespace roll {

/// The judge's answer, or a failed reward (reward.h) if there is none.
using JudgeReply = std::variant<JudgeWords, RewardResult>;

/// Not thread-safe: one object per worker.
class JudgeModel {
 public:
  virtual ~JudgeModel() = default;
  /// Checks files without running them. Throws UserError if the judge's program is missing or not executable.
  virtual void check_files() const {}
  /// Prepares for the first question. Throws UserError for the same reasons.
  virtual void prepare() { check_files(); }
  /// Asks the judge and waits, at most timeout_s. `messages`: a list of {"role", "content"}. Throws UserError if the
  /// judge will not answer any question: a server rejects the first one, or a program is broken (command.h).
  virtual JudgeReply ask(const Json& messages) = 0;
};

/// Returns the request body for POST <judge_api_url>/chat/completions: model, messages and temperature, and those of
/// args.generating_args that have an effect, since some servers support few keys.
Json chat_request(const LlmJudgeArgs& args, const Json& messages);

/// Makes a judge that asks a server. Throws UserError if judge_api_url or judge_model_name is missing, or if
/// judge_api_url or judge_api_key is invalid.
std::unique_ptr<JudgeModel> make_api_judge(const LlmJudgeArgs& args, const RuleContext& context);

/// Makes a judge that asks the user's program args.command. The program reads lines {"id", "model", "messages", ...}
/// with the keys of chat_request(), and answers each with a line {"id", "text"}; it is run, and fails, as described in
/// command.h. Throws UserError if the command is empty.
std::unique_ptr<JudgeModel> make_command_judge(const LlmJudgeArgs& args, const RuleContext& context);

}  // namespace roll
