#include "config/from_env.h"

#include "config/secret.h"

namespace roll {

namespace {

const std::string* find(const std::map<std::string, std::string>& texts, const std::string& key) {
  const auto found = texts.find(key);
  return found == texts.end() ? nullptr : &found->second;
}

}  // namespace

void FromEnv::add(const std::string& path, const Node& scalar) {
  if (scalar.env_text.empty()) return;
  env_text_by_path_[path] = scalar.env_text;
  if (scalar.text.size() >= kShortestSecret) env_text_by_text_[scalar.text] = scalar.env_text;
}

const std::string* FromEnv::find_by_path(const std::string& path) const {
  // Replaces a secret that the file itself holds: its value is not written and cannot be read back.
  static const std::string kHidden = to_config_text(Secret{"any"});
  const std::string* const origin = find(env_text_by_path_, path);
  return origin || !names_secret(path) ? origin : &kHidden;
}

const std::string* FromEnv::find_by_text(const std::string& text) const {
  return find(env_text_by_text_, text);
}

}  // namespace roll
