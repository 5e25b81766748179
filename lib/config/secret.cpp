#include "config/secret.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/nearest.h"

namespace roll {

namespace {

constexpr const char* kHidden = "(hidden)";

/// True if the value is a mapping with a secret key: "{type: llm_judge, judge_api_key: ...}".
bool holds_secret(std::string_view value) {
  for (size_t colon = value.find(':'); colon != std::string_view::npos; colon = value.find(':', colon + 1)) {
    std::string_view before = value.substr(0, colon);
    while (before.ends_with(' ') || before.ends_with('"') || before.ends_with('\'')) before.remove_suffix(1);
    if (names_secret(before)) return true;
  }
  return false;
}

}  // namespace

void from_config_text(const std::string& text, Secret& secret) {
  if (text == kHidden)
    throw UserError(
        "is the placeholder of a secret, which files never hold; write ${oc.env:NAME}, and set that variable");
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
  const std::string value = argument.substr(std::min(equals + 1, argument.size()));
  const bool is_shown = value.empty() || value.starts_with("${") || !(names_secret(key) || holds_secret(value));
  return is_shown ? argument : key + "=" + kHidden;
}

bool names_secret(std::string_view key) {
  const std::string name = lower_ascii(std::string(key));
  constexpr std::array kEndings{"api_key", "_token", "secret", "password", "access_key"};
  return std::ranges::any_of(kEndings, [&](const char* ending) { return name.ends_with(ending); });
}

}  // namespace roll
