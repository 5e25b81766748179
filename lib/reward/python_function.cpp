#include "reward/python_function.h"

#include "base/error.h"
#include "base/file.h"
#include "process/python_name.h"
#include "reward/program_reward.h"

namespace roll {

namespace {

std::vector<std::string> find_command(const PythonName& name, const PythonFunctionArgs& args) {
  std::vector<std::string> command = name.command(args.interpreter, python_function_text());
  if (args.result_key) command.push_back(*args.result_key);
  return command;
}

constexpr double kStart_s = 300;  // time to load the function's file, which may load models

class PythonFunction : public ProgramReward {
 public:
  PythonFunction(PythonName name, const PythonFunctionArgs& args, const RuleContext& context)
      : ProgramReward(find_command(name, args), context,
                      {.key = "interpreter",
                       .shown = "python = " + args.python,
                       .start_s = kStart_s,
                       .sandbox = args.sandbox ? context.where + "sandbox" : ""}),
        key_(context.where + "python = " + args.python),
        name_(std::move(name)) {}

  void check_files() const override {
    ProgramReward::check_files();
    if (name_.is_file() && !is_there(name_.source))
      throw user_error("{}: {} does not exist; a path counts from the folder that roll runs in", key_, name_.source);
  }
  /// Loads the function.
  void prepare() override {
    check_files();
    takes_many_ = program_.start().value("many", false);
  }
  bool takes_many() const override { return takes_many_; }

  RewardResult score(const RewardQuery& query) override { return std::move(score_all({&query}).front()); }
  std::vector<RewardResult> score_all(const RewardQueries& queries) override {
    Json questions = Json::array();
    for (const RewardQuery* query : queries) {
      questions.push_back(reward_question(*query));
      questions.back()["prompt_ids"] = query->prompt_ids;
      questions.back()["response_ids"] = query->response_ids;
    }
    return queries.empty() ? std::vector<RewardResult>() : program_.ask_all(std::move(questions));
  }

 private:
  std::string key_;
  PythonName name_;
  bool takes_many_ = false;
};

}  // namespace

std::unique_ptr<RewardFunction> make_python_function(const PythonFunctionArgs& args, const RuleContext& context) {
  return std::make_unique<PythonFunction>(parse_python_name(args.python, context.where + "python"), args, context);
}

}  // namespace roll
