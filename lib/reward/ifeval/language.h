// Detects the language of a text with CLD2, for ifeval checks.
#pragma once

#include <string>
#include <string_view>

namespace roll::ifeval {

/// Returns one code per language (ISO 639-1 if it has one) for a code ("fr", "zh-cn") or an English name ("French"); ""
/// for an unknown language.
std::string find_language(std::string_view name);

struct TextLanguage {
  std::string code;         // main language, as from find_language(); "" if unknown
  bool is_certain = false;  // false for a few words
};
/// Detects the main language of a text in valid UTF-8.
TextLanguage detect_language(std::string_view text);

/// Returns whether `language` satisfies `wanted`: "zh" accepts Chinese in either script.
bool is_language(std::string_view language, std::string_view wanted);

}  // namespace roll::ifeval
