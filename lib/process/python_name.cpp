#include "process/python_name.h"

#include "base/error.h"

namespace roll {

std::vector<std::string> PythonName::command(const std::string& interpreter, std::string_view text) const {
  return {interpreter, "-c", std::string(text), source, name};
}

PythonName parse_python_name(const std::string& value, const std::string& key) {
  size_t split = value.rfind(':');
  if (split == std::string::npos && !value.ends_with(".py")) split = value.rfind('.');
  if (split == std::string::npos || split == 0 || split + 1 == value.size())
    throw user_error("{} = {}: must be FILE.py:NAME or module.NAME, such as rewards.py:reward", key, value);
  return {value.substr(0, split), value.substr(split + 1)};
}

}  // namespace roll
