// A judge behind an OpenAI-compatible server: POST <judge_api_url>/chat/completions.
#pragma once

#include <memory>

#include "reward/judge/judge_model.h"
#include "reward/llm_judge.h"

namespace roll {

/// The body of a question. Of generating_args it holds what changes something, so that a server which knows few of them
/// is content.
Json chat_request(const LlmJudgeArgs& args, const Json& messages);

/// UserError: no address, one that is none, no model's name.
std::unique_ptr<JudgeModel> make_api_judge(const LlmJudgeArgs& args, const RuleContext& context);

}  // namespace roll
