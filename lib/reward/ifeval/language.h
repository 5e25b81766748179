// Detects the language of a text with CLD2, for ifeval checks.
#pragma once

#include <string>
#include <string_view>

namespace roll::ifeval {

/// Returns the code of a language that `name` gives as a code ("fr", "zh-cn") or by its English name ("French"). It is
/// the ISO 639-1 code, if the language has one. Chinese is "zh"; "zh-cn" or "zh-tw" if `name` says which script.
/// Returns
/// "" if the language is unknown.
std::string find_language(std::string_view name);

/// Result of detect_language().
struct TextLanguage {
  std::string code;         // main language, as returned by find_language() (Chinese: zh-cn or zh-tw); "" if unknown
  bool is_certain = false;  // false if the detection is unreliable, such as for a few words
};
/// Detects the main language of a text in valid UTF-8.
TextLanguage detect_language(std::string_view text);

/// Returns whether `language` (from detect_language()) is `wanted` (from find_language()): the codes are equal, or
/// `wanted` is "zh" and `language` is "zh-cn" or "zh-tw".
bool is_language(std::string_view language, std::string_view wanted);

}  // namespace roll::ifeval
