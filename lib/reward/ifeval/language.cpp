#include "reward/ifeval/language.h"

#include <cld2/internal/lang_script.h>
#include <cld2/public/compact_lang_det.h>
#include <cld2/public/encodings.h>

#include <cctype>

#include "reward/text_measures.h"
#include "unicode/unicode.h"

namespace roll::ifeval {

namespace {

/// Replaces CLD2's outdated codes, and merges or renames its variants (Norwegian, Chinese).
std::string usual_code(const std::string& code) {
  if (code == "iw") return "he";
  if (code == "jw") return "jv";
  if (code == "nb" || code == "nn") return "no";
  if (code == "zh") return "zh-cn";
  if (code == "zh-Hant") return "zh-tw";
  return code;
}

std::string language_code(CLD2::Language language) {
  const std::string code = CLD2::LanguageCode(language);
  const bool is_none = code.starts_with("un") || code.starts_with("xx");  // unknown, or a script instead of a language
  return is_none ? "" : usual_code(code);
}

}  // namespace

std::string find_language(std::string_view name) {
  const std::string lowered = lower(trimmed(name));
  if (lowered == "zh" || lowered == "chinese") return "zh";
  if (lowered == "zh-cn" || lowered == "zh-tw") return lowered;
  if (lowered == "he") return lowered;
  const std::string code = language_code(CLD2::GetLanguageFromName(lowered.c_str()));
  if (!code.empty() || !is_ascii(lowered)) return code;
  std::string upper = lowered;  // CLD2 has names in capitals
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return language_code(CLD2::GetLanguageFromName(upper.c_str()));
}

TextLanguage detect_language(std::string_view text) {
  const CLD2::CLDHints no_hints{nullptr, nullptr, CLD2::UNKNOWN_ENCODING, CLD2::UNKNOWN_LANGUAGE};
  CLD2::Language languages[3];
  int percent[3], num_text_bytes = 0;
  double scores[3];
  bool is_reliable = false;
  const CLD2::Language most = CLD2::ExtDetectLanguageSummary(
      text.data(), static_cast<int>(text.size()), /*is_plain_text=*/true, &no_hints, CLD2::kCLDFlagBestEffort,
      languages, percent, scores, nullptr, &num_text_bytes, &is_reliable);
  return {language_code(most), is_reliable};
}

bool is_language(std::string_view language, std::string_view wanted) {
  return language == wanted || (wanted == "zh" && language.starts_with("zh-"));
}

}  // namespace roll::ifeval
