#include "reward/judge/judge_model.h"
#include "reward/program.h"

namespace roll {

namespace {

class CommandJudge : public JudgeModel {
 public:
  CommandJudge(const LlmJudgeArgs& args, const RuleContext& context) : args_(args), program_(args.command, context) {}

  void check_files() const override { program_.check_files(); }

  JudgeReply ask(const Json& messages) override {
    JudgeWords words;
    const RewardResult result = program_.ask(chat_request(args_, messages), [&](std::string_view line, int64_t id) {
      return parse_words(line, id, words.text);
    });
    if (reward_failure(result.detail)) return result;
    return words;
  }

 private:
  LlmJudgeArgs args_;
  RewardProgram program_;
};

}  // namespace

std::unique_ptr<JudgeModel> make_command_judge(const LlmJudgeArgs& args, const RuleContext& context) {
  return std::make_unique<CommandJudge>(args, context);
}

}  // namespace roll
