#include "reward/python_function.h"

#include "base/error.h"
#include "base/file.h"
#include "reward/program_reward.h"

namespace roll {

namespace {

class PythonFunction : public ProgramReward {
 public:
  PythonFunction(const std::vector<std::string>& command, const RuleContext& context, const ProgramWords& words)
      : ProgramReward(command, context, words), key_(context.where + words.shown), file_(command[3]) {}

  void check_files() const override {
    ProgramReward::check_files();
    if (!is_there(file_))
      throw user_error("{}: {} is not there; a path counts from the folder that roll runs in", key_, file_);
  }
  /// Loads the function.
  void prepare() override {
    check_files();
    program_.start();
  }

 private:
  std::string key_, file_;
};

constexpr double kStart_s = 300;  // of a function's file, which may load models

}  // namespace

std::unique_ptr<RewardFunction> make_python_function(const PythonFunctionArgs& args, const RuleContext& context) {
  const size_t colon = args.python.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == args.python.size())
    throw user_error("{}python = {}: must be FILE:FUNCTION, as rewards.py:reward", context.where, args.python);
  const std::string file = args.python.substr(0, colon), function = args.python.substr(colon + 1);
  const std::vector command{args.interpreter, std::string("-c"), std::string(python_function_text()), file, function};
  return std::make_unique<PythonFunction>(command, context,
                                          ProgramWords{"interpreter", "python = " + args.python, kStart_s});
}

}  // namespace roll
