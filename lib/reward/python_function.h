// Type python: a function in a file of the user's scores responses (reward/python_function.py).
#pragma once

#include <string_view>

#include "reward/rule.h"

namespace roll {

struct PythonFunctionArgs {
  std::string python;
  std::string interpreter = "python3";

  template <class V>
  void fields(V& v) {
    v("python", python, "FILE:FUNCTION, written for roll, verl, TRL or OpenRLHF, which its parameters' names say");
    v("interpreter", interpreter, "the Python that runs it, such as that of a virtual environment");
  }
};

/// A process that stays, as of type command (command.h), with its failures; an exception of the function is no verdict.
/// UserError: `python` is no FILE:FUNCTION; when its files are checked, the function cannot be loaded.
std::unique_ptr<RewardFunction> make_python_function(const PythonFunctionArgs& args, const RuleContext& context);

/// What the interpreter runs.
std::string_view python_function_text();

}  // namespace roll
