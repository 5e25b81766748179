// IFEval's instructions, checked as published, with these differences:
//   keywords, splitters, starters         are texts, not expressions: "C++" is one
//   length_constraints:number_sentences   counts with sentences.h instead of NLTK's trained model; text without a word
//                                         is no sentence
//   detectable_format:json_format         NaN and Infinity are not JSON; any nesting depth is allowed
//   length_constraints:nth_paragraph_first_word
//                                         blank paragraphs do not count for n either; any character that is not part
//                                         of a word ends the first word
//   change_case:capital_word_frequency    a contraction ("IT'S") is one word, where NLTK makes two
//   language:*, change_case:english_*     use CLD2 instead of langdetect. As published, a text in an unknown language
//                                         follows the instruction. Here it matches no requested language, and
//                                         english_* fails only for text that is certainly in another language
//   combination, startend, ...            an argument that a row leaves out is an error of the row, not a random value
#include <algorithm>

#include "reward/ifeval/checks.h"
#include "reward/ifeval/instruction.h"
#include "reward/ifeval/json_text.h"
#include "reward/ifeval/language.h"
#include "reward/ifeval/sentences.h"
#include "reward/text_measures.h"
#include "unicode/unicode.h"

namespace roll::ifeval {

namespace {

bool keyword_frequency(const CheckedText& text, const Arguments& args) {
  const std::string keyword = fold(args.text("keyword"));
  const int64_t n = args.whole("frequency");
  return holds(args.relation("relation"), static_cast<int64_t>(count_parts(fold(text.text()), keyword)), n);
}

bool letter_frequency(const CheckedText& text, const Arguments& args) {
  const std::string letter = lower(args.letter("letter"));
  const int64_t n = args.whole("let_frequency");
  return holds(args.relation("let_relation"), static_cast<int64_t>(count_parts(text.lowered(), letter)), n);
}

bool number_sentences(const CheckedText& text, const Arguments& args) {
  const int64_t n = args.whole("num_sentences");
  return holds(args.relation("relation"), count_sentences(text.text()), n);
}

bool number_paragraphs(const CheckedText& text, const Arguments& args) {
  const int64_t n = args.whole("num_paragraphs");
  const auto parts = divided(text.text(), "***", /*ends_may_be_blank=*/true);
  return parts && std::ssize(*parts) == n;
}

bool number_words(const CheckedText& text, const Arguments& args) {
  const int64_t n = args.whole("num_words");
  return holds(args.relation("relation"), text.count(R"(\w+)"), n);
}

/// The marker may occur anywhere in the text.
bool postscript(const CheckedText& text, const Arguments& args) {
  const std::string marker = args.text("postscript_marker");
  if (marker == "P.P.S") return text.count(R"((?i)p\.\s?p\.\s?s)") > 0;
  if (marker == "P.S.") return text.count(R"((?i)p\.\s?s\.)") > 0;
  return text.lowered().find(lower(marker)) != std::string::npos;
}

bool constrained_response(const CheckedText& text, const Arguments&) {
  return std::ranges::any_of(
      std::to_array<std::string_view>({"My answer is yes.", "My answer is no.", "My answer is maybe."}),
      [&](std::string_view option) { return text.text().find(option) != std::string_view::npos; });
}

/// Counts sections "Section 1": the splitter, at most one white space, a decimal digit.
bool multiple_sections(const CheckedText& text, const Arguments& args) {
  const std::string splitter = args.text("section_spliter");  // IFEval's spelling
  const int64_t n = args.whole("num_sections");
  int64_t count = 0;
  const std::vector<std::string_view> parts = split(text.text(), splitter);
  for (size_t i = 1; i < parts.size(); ++i) {
    size_t pos = 0;
    char32_t c = parts[i].empty() ? U' ' : next_code_point(parts[i], pos);
    if (is_white_space(c) && pos < parts[i].size()) c = next_code_point(parts[i], pos);
    count += is_decimal_digit(c);
  }
  return count >= n;
}

/// The text is JSON, with or without a Markdown fence.
bool json_format(const CheckedText& text, const Arguments&) {
  std::string_view json = trimmed(text.text());
  for (const std::string_view fence : {"```json", "```Json", "```JSON", "```"})
    if (json.starts_with(fence)) {
      json.remove_prefix(fence.size());
      break;
    }
  if (json.ends_with("```")) json.remove_suffix(3);
  return is_json(trimmed(json));
}

bool repeat_prompt(const CheckedText& text, const Arguments& args) {
  const std::string prompt = lower(args.text("prompt_to_repeat"));
  return trimmed(text.lowered()).starts_with(prompt);
}

bool end_checker(const CheckedText& text, const Arguments& args) {
  const std::string phrase = lower(args.text("end_phrase"));
  std::string_view end = trimmed(text.lowered());
  while (end.ends_with('"')) end.remove_suffix(1);
  return end.ends_with(phrase);
}

/// Words are separated by white space and punctuation, but keep inner hyphens and apostrophes.
bool capital_word_frequency(const CheckedText& text, const Arguments& args) {
  const int64_t n = args.whole("capital_frequency");
  const auto words = text.find_all(R"((?:[^\s,:;@#$%&?!"()\[\]{}<>“”«»…-]|-(?!-))+)");
  return holds(args.relation("capital_relation"), std::ranges::count_if(words, is_all_uppercase), n);
}

bool may_be_english(std::string_view text) {
  const TextLanguage language = detect_language(text);
  return !language.is_certain || language.code == "en";
}

bool english_capital(const CheckedText& text, const Arguments&) {
  return is_all_uppercase(text.text()) && may_be_english(text.lowered());
}

bool english_lowercase(const CheckedText& text, const Arguments&) {
  return is_all_lowercase(text.text()) && may_be_english(text.text());
}

constexpr InstructionKind kInstructions[] = {
    {"keywords:existence",
     [](const CheckedText& t, const Arguments& a) { return has_all_keywords(t, a.texts("keywords")); }},
    {"keywords:frequency", keyword_frequency},
    {"keywords:forbidden_words",
     [](const CheckedText& t, const Arguments& a) { return has_none(t, a.texts("forbidden_words")); }},
    {"keywords:letter_frequency", letter_frequency},
    {"letters:letter_counting2", letter_frequency},  // AllenAI's name for it
    {"language:response_language",
     [](const CheckedText& t, const Arguments& a) { return is_in_language(t, a, "language"); }},
    {"length_constraints:number_sentences", number_sentences},
    {"length_constraints:number_paragraphs", number_paragraphs},
    {"length_constraints:number_words", number_words},
    {"length_constraints:nth_paragraph_first_word",
     [](const CheckedText& t, const Arguments& a) {
       return has_first_word(t, read_first_word(a, {"num_paragraphs", "nth_paragraph", "first_word"}));
     }},
    {"detectable_content:number_placeholders",
     [](const CheckedText& t, const Arguments& a) { return a.whole("num_placeholders") <= count_placeholders(t); }},
    {"detectable_content:postscript", postscript},
    {"detectable_format:number_bullet_lists",
     [](const CheckedText& t, const Arguments& a) { return a.whole("num_bullets") == count_bullets(t); }},
    {"detectable_format:constrained_response", constrained_response},
    {"detectable_format:number_highlighted_sections",
     [](const CheckedText& t, const Arguments& a) { return a.whole("num_highlights") <= count_highlights(t); }},
    {"detectable_format:multiple_sections", multiple_sections},
    {"detectable_format:json_format", json_format},
    {"detectable_format:title", [](const CheckedText& t, const Arguments&) { return has_title(t); }},
    {"combination:two_responses",
     [](const CheckedText& t, const Arguments&) { return has_two_responses(t.text(), /*ends_may_be_blank=*/true); }},
    {"combination:repeat_prompt", repeat_prompt},
    {"startend:end_checker", end_checker},
    {"startend:quotation", [](const CheckedText& t, const Arguments&) { return is_quoted(t.text()); }},
    {"change_case:capital_word_frequency", capital_word_frequency},
    {"change_case:english_capital", english_capital},
    {"change_case:english_lowercase", english_lowercase},
    {"punctuation:no_comma",
     [](const CheckedText& t, const Arguments&) { return t.text().find(',') == std::string_view::npos; }},
};

}  // namespace

std::span<const InstructionKind> ifeval_instructions() {
  return kInstructions;
}

}  // namespace roll::ifeval
