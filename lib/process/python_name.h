// Names of functions and classes in the user's Python code, such as rewards.py:reward.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roll {

struct PythonName {
  std::string source;  // a file that ends with .py, or a module
  std::string name;

  bool is_file() const { return source.ends_with(".py"); }
  /// Returns the command that runs our Python program `text` with `source` and `name` as arguments.
  std::vector<std::string> command(const std::string& interpreter, std::string_view text) const;
};

/// Parses FILE.py:NAME, module:NAME or module.NAME. UserError "key = value: rule": the text has none of these forms.
PythonName parse_python_name(const std::string& value, const std::string& key);

}  // namespace roll
