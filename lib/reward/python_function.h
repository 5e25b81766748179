// Type python: a function in the user's Python file scores responses (reward/python_function.py).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/keys.h"
#include "reward/rule.h"

namespace roll {

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

/// Makes a reward that asks a long-lived Python process, with the failures of type command (command.h). An exception of
/// the function is a failed reward. The question is {"id", "questions": [as in command.h, with "prompt_ids" and
/// "response_ids"]}, the answer {"id", "answers": [{"reward", "detail"} or {"error"}]}, or {"id", "error"} for all. A
/// function of lists or an async function gets many responses at once; timeout_s then counts once per response.
/// UserError: `python` names no function; in check_files(): its file is missing, or no sandbox is possible; in
/// prepare(): it cannot be loaded.
std::unique_ptr<RewardFunction> make_python_function(const PythonFunctionArgs& args, const RuleContext& context);

/// Returns the program that the interpreter runs (python_function.py).
std::string_view python_function_text();

}  // namespace roll
