#include "base/env.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/error.h"

namespace roll {

std::optional<std::string> env(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

std::vector<std::string> env_names() {
  std::vector<std::string> names;
  for (char** entry = environ; *entry; ++entry)
    names.push_back(std::string(*entry).substr(0, std::string(*entry).find('=')));
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<int64_t> env_count(const std::string& name) {
  const std::optional<std::string> text = env(name);
  if (!text || text->empty()) return std::nullopt;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size() || value < 0)
    throw user_error("environment variable {} = {}: must be a whole number >= 0; correct or unset it", name, *text);
  return value;
}

void set_env(const std::string& name, const std::string& value) {
  if (::setenv(name.c_str(), value.c_str(), 1) != 0) throw system_error("setenv {}{}", name, errno_text());
}

}  // namespace roll
