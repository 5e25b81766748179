// A judge: messages to words. Behind an OpenAI-compatible server (api_judge.cpp) or a program (command_judge.cpp).
#pragma once

#include <memory>
#include <variant>

#include "base/json.h"
#include "reward/llm_judge.h"
#include "reward/reward.h"

namespace roll {

/// Words, or why there are none.
using JudgeReply = std::variant<JudgeWords, RewardResult>;

/// Not thread-safe: one object per worker.
class JudgeModel {
 public:
  virtual ~JudgeModel() = default;
  /// As RewardFunction::check_files().
  virtual void check_files() const {}
  /// Before the first question; UserError as RewardFunction::prepare().
  virtual void prepare() { check_files(); }
  /// messages: of one chat. UserError: the judge will answer no question at all.
  virtual JudgeReply ask(const Json& messages) = 0;
};

/// The body of a question: POST <judge_api_url>/chat/completions. Of generating_args it holds only what changes
/// something, for servers that know few of them.
Json chat_request(const LlmJudgeArgs& args, const Json& messages);

/// UserError: no address, one that is none, no model's name.
std::unique_ptr<JudgeModel> make_api_judge(const LlmJudgeArgs& args, const RuleContext& context);

/// A program that gets a line {"id", "messages", "temperature", ...}, with the keys of chat_request(), and answers by a
/// line {"id", "text"}. UserError: no program; further ones as of type command (command.h).
std::unique_ptr<JudgeModel> make_command_judge(const LlmJudgeArgs& args, const RuleContext& context);

}  // namespace roll
