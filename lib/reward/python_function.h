// Reward type python: a function in the user's Python file scores responses. The script python_function.py, which runs
// in the user's interpreter, loads and calls it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/keys.h"
#include "reward/rule.h"

namespace roll {

/// Keys of the type.
struct PythonFunctionArgs {
  std::string python;
  std::string interpreter = "python3";
  std::optional<std::string> result_key;
  bool sandbox = false;

  void fields(Keys& v) {
    v("python", python,
      "FILE.py:FUNCTION or module.function, written for roll, verl, TRL, OpenRLHF or slime (found from its "
      "parameters' names); without a type it means type python");
    v("interpreter", interpreter,
      "the Python interpreter that runs the function, such as that of a virtual "
      "environment");
    v("result_key", result_key, "key of the reward in the dict that the function returns; null: reward or score");
    v("sandbox", sandbox,
      "isolates the function: no network, and no files except its own and the interpreter's "
      "(SECURITY.md)");
  }
};

/// Makes a reward that asks a long-lived Python process. Failures, restarts and errors are those of type command
/// (command.h); an exception of the function gives a failed reward. A function that takes lists, or is async, gets many
/// responses at once, and may take timeout_s x their number.
/// The process reads lines {"id", "questions": [...]}. Each question has the members of a line of command.h, without
/// "id", and "prompt_ids" and "response_ids". The process answers {"id", "answers": [{"reward", "detail"} or {"error"},
/// ...]}, or {"id", "error"} if it can answer no question.
/// Throws UserError if `args.python` is not FILE.py:FUNCTION or module.function. check_files() throws UserError if the
/// file is missing or a requested sandbox is not possible, prepare() if the function cannot be loaded.
std::unique_ptr<RewardFunction> make_python_function(const PythonFunctionArgs& args, const RuleContext& context);

/// Returns the text of the script python_function.py, which the build embeds.
std::string_view python_function_text();

}  // namespace roll
