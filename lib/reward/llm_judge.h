// Reward type llm_judge: a language model, the judge, grades the response.
//
//   JudgeRule::question   row and response -> chat messages      (judge/judge_rule.h)
//   JudgeModel::ask       chat messages -> answer text           (judge/judge_model.h; a server or a program)
//   JudgeRule::verdict    answer text -> score                   (judge/verdict.h)
//
// For a judge that runs in this program, collect/reward_models.h makes the second step before the reward is computed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/names.h"
#include "config/keys.h"
#include "config/secret.h"
#include "http/rate_limiter.h"
#include "reward/rule.h"
#include "rollout/config.h"

namespace roll {

/// Built-in prompt templates for the judge.
enum class JudgeTemplate {
  kScoreWithReference,  // a grade 0..10, given the ground truth
  kScore,               // a grade 0..10, without the ground truth
  kSameAnswer           // YES or NO: whether the response's answer is the ground truth
};
constexpr auto enum_names(JudgeTemplate) {
  return std::to_array<Named<JudgeTemplate>>({{JudgeTemplate::kScoreWithReference, "score_with_reference"},
                                              {JudgeTemplate::kScore, "score"},
                                              {JudgeTemplate::kSameAnswer, "Qwen2.5-7B-Instruct-RLVR-prompt"}});
}
constexpr auto refused_enum_names(JudgeTemplate) {
  return std::to_array<RefusedName>(
      {{"PERALIGN-RLVR-prompt", "asks about personas, which rows here do not have; give it as judge_prompt_file"}});
}

/// Backend of the judge.
enum class JudgeModelType {
  kApi,        // an OpenAI-compatible server
  kInference,  // a model in this program, for this domain alone
  kCluster,    // a model in this program, shared by all domains with kCluster
  kCommand     // the user's program
};
constexpr auto enum_names(JudgeModelType) {
  return std::to_array<Named<JudgeModelType>>({{JudgeModelType::kApi, "api"},
                                               {JudgeModelType::kInference, "inference"},
                                               {JudgeModelType::kCluster, "cluster"},
                                               {JudgeModelType::kCommand, "command"}});
}

/// Keys of the type; fields() has their meanings.
struct LlmJudgeArgs {
  std::optional<JudgeTemplate> judge_prompt;
  std::optional<std::string> judge_prompt_file;
  std::optional<std::string> judge_score_pattern;
  std::optional<double> judge_score_max;
  JudgeModelType judge_model_type = JudgeModelType::kApi;
  std::optional<std::string> judge_model_name;
  std::optional<std::string> judge_api_url;
  std::optional<Secret> judge_api_key;
  std::vector<std::string> command;
  RateLimits limits;
  GeneratingArgs generating_args{.max_new_tokens = 1024, .temperature = 0, .top_p = 1, .top_k = 0};

  /// Returns whether the judge runs in this program.
  bool needs_model() const {
    return judge_model_type == JudgeModelType::kInference || judge_model_type == JudgeModelType::kCluster;
  }

  Patience usual_patience() const {
    return {.timeout_s = 60, .max_retries = judge_model_type == JudgeModelType::kApi ? 3 : 0};
  }

  void fields(Keys& v) {
    v("judge_prompt", judge_prompt, "built-in template of the question to the judge; null: score_with_reference");
    v("judge_prompt_file", judge_prompt_file,
      "file with your template: {question}, {response} and {reference} are filled in, other braces stay");
    v("judge_score_pattern", judge_score_pattern,
      "regular expression whose first group in the judge's answer is the score: 7, 7/10, YES; its last match counts; "
      "null: a line \"Score: N\", or YES or NO alone on a line");
    v("judge_score_max", judge_score_max,
      "the judge's best score; null: the built-in template's; with your template, a number above 1 counts as tenths",
      above_to(0, 1e6));
    v("judge_model_type", judge_model_type, "api: a server; command: a program; inference, cluster: in this program");
    v("judge_model_name", judge_model_name, "api: the model's name on the server");
    v("judge_api_url", judge_api_url, "api: address of an OpenAI-compatible server, such as https://host:8000/v1",
      may_change());
    v("judge_api_key", judge_api_key,
      "api: sent with each question, never logged or saved; ${oc.env:NAME} keeps it out of files", may_change());
    v("command", command, "program and arguments; {\"id\", \"messages\", ...} lines in, {\"id\", \"text\"} out");
    limits.fields(v);
    v("generating_args", generating_args, "how the judge samples; unless set: greedy, 1024 tokens");
  }
};

/// Makes the reward. For a judge in this program, the query already has the answer (RewardQuery::judge_words). Throws
/// UserError if a key that judge_model_type needs is missing (judge_api_url and judge_model_name, or command), if a
/// template lacks {response}, if the pattern does not compile, or if both judge_prompt and judge_prompt_file are set.
/// score() throws UserError if the server rejects address, API key or model at the first question, or if the program is
/// broken (command.h).
std::unique_ptr<RewardFunction> make_llm_judge(const LlmJudgeArgs& args, const RuleContext& context);

}  // namespace roll
