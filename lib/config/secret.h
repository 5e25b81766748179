// Secrets such as API keys: used, but never written to files or messages, which show "(hidden)".
#pragma once

#include <string>
#include <string_view>

namespace roll {

/// Shorter texts are not searched for, because they may occur elsewhere by chance.
constexpr size_t kShortestSecret = 8;

struct Secret {
  std::string text;
};

/// Reads a secret. UserError (a rule without file and line): the text is "(hidden)", written by to_config_text().
void from_config_text(const std::string& text, Secret& secret);
/// Returns "(hidden)", or "" if the secret is empty.
std::string to_config_text(const Secret& secret);

/// Returns `text` with "(hidden)" for each occurrence of the secret, if the secret has kShortestSecret bytes or more.
std::string without(const Secret& secret, std::string text);

/// Returns a command-line argument with the value of a secret key hidden, unless the value is an interpolation.
std::string shown_argument(const std::string& argument);

/// True if a key of this name usually holds a secret (e.g. it ends in "api_key"), in any program. Messages then hide
/// its value, even if the key is unknown or misplaced.
bool names_secret(std::string_view key);

}  // namespace roll
