// A judge that is a program: a line {"id", "messages", "temperature", ...} in, a line {"id", "text"} out. What is asked
// is what a server would be (api_judge.h).
#pragma once

#include <memory>

#include "reward/judge/judge_model.h"
#include "reward/llm_judge.h"

namespace roll {

/// UserError: no program; further ones as of type command (command.h).
std::unique_ptr<JudgeModel> make_command_judge(const LlmJudgeArgs& args, const RuleContext& context);

}  // namespace roll
