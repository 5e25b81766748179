#include "reward/command.h"

#include "reward/program.h"

namespace roll {

namespace {

class CommandReward : public RewardFunction {
 public:
  CommandReward(const CommandArgs& args, const RuleContext& context) : program_(args.command, context) {}

  bool is_users_own() const override { return true; }
  void check_files() const override { program_.check_files(); }

  RewardResult score(const RewardQuery& q) override {
    return program_.ask(Json{{"prompt", q.prompt},
                             {"response", q.response},
                             {"ground_truth", q.ground_truth},
                             {"tag", q.tag},
                             {"domain", q.domain},
                             {"finish_reason", q.finish_reason},
                             {"num_response_tokens", q.num_response_tokens},
                             {"row", q.row}},
                        parse_reply);
  }

 private:
  RewardProgram program_;
};

}  // namespace

std::unique_ptr<RewardFunction> make_command(const CommandArgs& args, const RuleContext& context) {
  return std::make_unique<CommandReward>(args, context);
}

}  // namespace roll
