// Parses names of functions and classes in users' Python code, as configuration keys give them: rewards.py:reward.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roll {

/// A parsed name.
struct PythonName {
  std::string source;  // path of a .py file, or a module's name
  std::string name;    // the function or class in it

  bool is_file() const { return source.ends_with(".py"); }
  /// Returns the command by which `interpreter` (python3, say) runs `text`, a Python program of ours, with `source` and
  /// `name` as its arguments.
  std::vector<std::string> command(const std::string& interpreter, std::string_view text) const;
};

/// Parses `value`, FILE.py:NAME, module:NAME or module.NAME, of the configuration key `key`. Throws UserError "key =
/// value: rule" if it has none of these forms.
PythonName parse_python_name(const std::string& value, const std::string& key);

}  // namespace roll
