// The name of a function or a class in Python code of the user's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roll {

struct PythonName {
  std::string source;  // a file that ends with .py, or a module
  std::string name;

  bool is_file() const { return source.ends_with(".py"); }
  /// The words that run `text`, a program of ours that takes both.
  std::vector<std::string> command(const std::string& interpreter, std::string_view text) const;
};

/// Reads FILE.py:NAME, module:NAME or module.NAME. UserError "key = value: rule".
PythonName parse_python_name(const std::string& value, const std::string& key);

}  // namespace roll
