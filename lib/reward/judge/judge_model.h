// Interface of a judge that answers chat messages with text: an OpenAI-compatible server (api_judge.cpp) or a program
// (command_judge.cpp). Used by llm_judge.h.
#pragma once

#include <memory>
#include <variant>

#include "base/json.h"
#include "reward/llm_judge.h"
#include "reward/reward.h"

namespace roll {

/// The answer, or a failed reward.
using JudgeReply = std::variant<JudgeWords, RewardResult>;

/// Not thread-safe: one object per worker.
class JudgeModel {
 public:
  virtual ~JudgeModel() = default;
  /// See RewardFunction::check_files().
  virtual void check_files() const {}
  /// See RewardFunction::prepare().
  virtual void prepare() { check_files(); }
  /// Asks the judge; `messages` is one chat. UserError: the judge will not answer any question.
  virtual JudgeReply ask(const Json& messages) = 0;
};

/// Returns the request body for POST <judge_api_url>/chat/completions. Leaves out generating_args with neutral values,
/// since some servers support few keys.
Json chat_request(const LlmJudgeArgs& args, const Json& messages);

/// Makes a judge behind a server. UserError: address or model name is missing, or address or key is invalid.
std::unique_ptr<JudgeModel> make_api_judge(const LlmJudgeArgs& args, const RuleContext& context);

/// Makes a judge from a program. It reads lines {"id", "messages", "temperature", ...} with the keys of chat_request(),
/// and answers {"id", "text"}. UserError: no program; for other errors see command.h.
std::unique_ptr<JudgeModel> make_command_judge(const LlmJudgeArgs& args, const RuleContext& context);

}  // namespace roll
