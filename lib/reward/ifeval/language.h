// Detects the language of a text, by CLD2.
#pragma once

#include <string>
#include <string_view>

namespace roll::ifeval {

/// One name for each language (ISO 639-1 where there is one) out of a code ("fr", "zh-cn") or an English name
/// ("French"); "" for a language that nobody knows.
std::string language_of_name(std::string_view name);

struct TextLanguage {
  std::string code;         // of the language that most of the text is in, named likewise; "" where it cannot be told
  bool is_certain = false;  // not so for a few words
};
TextLanguage language_of_text(std::string_view text);

/// Whether texts in `language` are what `wanted` asks for: "zh" asks for Chinese in either script.
bool is_language(std::string_view language, std::string_view wanted);

}  // namespace roll::ifeval
