// A value that is used and never written: files and messages show that there is one, not which.
#pragma once

#include <string>
#include <string_view>

namespace roll {

/// A shorter text is likely to stand elsewhere for another reason.
constexpr size_t kShortestSecret = 8;

struct Secret {
  std::string text;
};

/// UserError (a rule without file and line): what to_config_text() wrote is no secret.
void from_config_text(const std::string& text, Secret& secret);
/// "(hidden)"; "" where there is none.
std::string to_config_text(const Secret& secret);

/// `text` with "(hidden)" for each place where it repeats the secret, if it is no shorter than kShortestSecret.
std::string without(const Secret& secret, std::string text);

/// A word of a command line: "judge_api_key=..." without its value, unless that is an interpolation.
std::string shown_argument(const std::string& argument);

/// Whether a key of this name holds a secret, here or in any other program: messages do not show its value, even where
/// the key stands in a wrong place.
bool names_secret(std::string_view key);

}  // namespace roll
