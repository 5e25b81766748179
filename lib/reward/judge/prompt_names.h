// Names of the built-in templates of what a judge is asked.
#pragma once

#include "base/names.h"

namespace roll {

enum class JudgeTemplate { kScoreWithReference, kScore, kSameAnswer };
constexpr auto names_of(JudgeTemplate) {
  return std::to_array<Named<JudgeTemplate>>({{JudgeTemplate::kScoreWithReference, "score_with_reference"},
                                              {JudgeTemplate::kScore, "score"},
                                              {JudgeTemplate::kSameAnswer, "Qwen2.5-7B-Instruct-RLVR-prompt"}});
}
constexpr auto refused_names_of(JudgeTemplate) {
  return std::to_array<RefusedName>(
      {{"PERALIGN-RLVR-prompt", "asks about personas, which rows here do not have; write it as judge_prompt_file"}});
}

}  // namespace roll
