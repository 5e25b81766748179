// Secrets such as API keys: the program uses them, but files and messages show "(hidden)" instead.
#pragma once

#include <string>
#include <string_view>

namespace roll {

/// Bytes of the shortest secret that without() and FromEnv search for; a shorter text may occur elsewhere by chance.
constexpr size_t kShortestSecret = 8;

/// Type of a configuration key that holds a secret.
struct Secret {
  std::string text;
};

/// Reads a secret from a configuration value. Throws UserError if the text is "(hidden)", which to_config_text() wrote
/// in place of a secret; the message has no file and line, which the caller adds.
void from_config_text(const std::string& text, Secret& secret);
/// Returns "(hidden)", or "" if the secret is empty.
std::string to_config_text(const Secret& secret);

/// Returns `text` with "(hidden)" for each occurrence of the secret, if the secret has kShortestSecret bytes or more.
std::string without(const Secret& secret, std::string text);

/// Returns a command-line argument for display: key=(hidden) if the key, or a key inside the value, usually holds a
/// secret and the value is no interpolation; else the argument unchanged.
std::string shown_argument(const std::string& argument);

/// Returns true if a key of this name or path usually holds a secret, in any program, because of its ending, such as
/// "api_key". Messages then hide its value, even if the key is unknown or misplaced.
bool names_secret(std::string_view key);

}  // namespace roll
