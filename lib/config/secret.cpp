#include "config/secret.h"

#include <algorithm>

#include "base/error.h"

namespace roll {

namespace {

constexpr const char* kHidden = "(hidden)";

}  // namespace

void from_config_text(const std::string& text, Secret& secret) {
  if (text == kHidden)
    throw UserError("stands where a secret was left out of this file; write ${oc.env:NAME}, and set that variable");
  secret.text = text;
}

std::string to_config_text(const Secret& secret) {
  return secret.text.empty() ? "" : kHidden;
}

std::string without(const Secret& secret, std::string text) {
  if (secret.text.size() < kShortestSecret) return text;
  for (size_t at = text.find(secret.text); at != std::string::npos; at = text.find(secret.text, at)) {
    text.replace(at, secret.text.size(), kHidden);
    at += std::string_view(kHidden).size();
  }
  return text;
}

std::string shown_argument(const std::string& argument) {
  const size_t equals = std::min(argument.find('='), argument.size());
  const std::string key = argument.substr(0, equals);
  const bool is_shown = equals == argument.size() || !names_secret(key) || argument.find("${", equals) == equals + 1;
  return is_shown ? argument : key + "=" + kHidden;
}

bool names_secret(std::string_view key) {
  return key.ends_with("api_key");
}

}  // namespace roll
