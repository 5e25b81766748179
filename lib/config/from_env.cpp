#include "config/from_env.h"

#include "config/secret.h"

namespace roll {

namespace {

const std::string* find(const std::map<std::string, std::string>& among, const std::string& key) {
  const auto found = among.find(key);
  return found == among.end() ? nullptr : &found->second;
}

}  // namespace

void FromEnv::add(const std::string& path, const Node& scalar) {
  if (scalar.env_text.empty()) return;
  by_path_[path] = scalar.env_text;
  if (scalar.text.size() >= kShortestSecret) by_text_[scalar.text] = scalar.env_text;
}

const std::string* FromEnv::at(const std::string& path) const {
  // Replaces a secret that the file itself holds: its value is not written and cannot be read back.
  static const std::string kHidden = to_config_text(Secret{"any"});
  const std::string* const origin = find(by_path_, path);
  return origin || !names_secret(path) ? origin : &kHidden;
}

const std::string* FromEnv::like(const std::string& text) const {
  return find(by_text_, text);
}

}  // namespace roll
