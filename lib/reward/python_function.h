// Type python: a function in a file of the user's scores responses (reward/python_function.py).
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
      "FILE.py:FUNCTION or module.function, written for roll, verl, TRL, OpenRLHF or slime, which its parameters' "
      "names "
      "say; without a type it means type python");
    v("interpreter", interpreter, "the Python that runs it, such as that of a virtual environment");
    v("result_key", result_key,
      "the reward is the number under this key of the dict that the function gives; null: under reward or score");
    v("sandbox", sandbox, "it has no network and no files but its own and the interpreter's (SECURITY.md)");
  }
};

/// A process that stays, with the failures of type command (command.h); an exception of the function is no verdict. It
/// is asked {"id", "questions": [as command.h has them, with "prompt_ids" and "response_ids"]} and answers {"id",
/// "answers": [{"reward", "detail"} or {"error"}]}, or {"id", "error"} for all. A function of lists and an async one
/// take many at once; timeout_s then counts once for each response. UserError: `python` names no function; when its
/// files are checked, the function cannot be loaded, or a sandbox cannot be made here.
std::unique_ptr<RewardFunction> make_python_function(const PythonFunctionArgs& args, const RuleContext& context);

/// What the interpreter runs.
std::string_view python_function_text();

}  // namespace roll
