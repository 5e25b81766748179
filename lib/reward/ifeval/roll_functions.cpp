// Functions named in ROLL's rows. If ROLL's own check differs from its instruction, this one follows the instruction:
//   every function                 a blank response follows nothing; ROLL accepts it as upper case, as lower case, as
//                                  free of commas and as a choice
//   verify_keyword_frequency       counts the keyword; ROLL compares each word with itself and counts all words
//   validate_forbidden_words       finds whole words; ROLL finds "art" in "start"
//   verify_sentence_constraint     "!" also ends a sentence, and a line break at the end begins none
//   validate_paragraphs            blank paragraphs do not count; the first word must be a whole word, in either case
//   verify_bullet_points           "**bold**" at the beginning of a line is no bullet
//   validate_title,
//   validate_highlighted_sections  an empty << >> or ** does not count
//   validate_choice                the response is an option; ROLL accepts any part of one
//   validate_sections              text before the first splitter is no section
//   validate_two_responses         neither response is blank
//   validate_uppercase, validate_lowercase
//                                  the text must have letters
//   validate_frequency_capital_words
//                                  "around" has the same tolerance as for words; ROLL's is exact
//   validate_end, validate_quotation
//                                  white space at the ends is ignored; a single quotation mark does not wrap
#include <algorithm>

#include "reward/ifeval/checks.h"
#include "reward/ifeval/instruction.h"
#include "reward/ifeval/json_text.h"
#include "reward/ifeval/sentences.h"
#include "reward/text_measures.h"

namespace roll::ifeval {

namespace {

bool verify_keyword_frequency(const CheckedText& text, const Arguments& args) {
  const std::string word = args.text("word");
  const int64_t n = args.whole("N");
  return static_cast<int64_t>(count_whole_words(fold(text.text()), fold(word))) == n;
}

bool verify_letter_frequency(const CheckedText& text, const Arguments& args) {
  const std::string letter = args.letter("letter");
  const int64_t n = args.whole("N");
  return static_cast<int64_t>(count_parts(text.text(), letter)) == n;
}

bool verify_paragraph_count(const CheckedText& text, const Arguments& args) {
  const int64_t n = args.whole("N");
  const auto parts = divided(text.text(), "* * *", /*ends_may_be_blank=*/false);
  return parts && std::ssize(*parts) == n;
}

bool validate_word_constraint(const CheckedText& text, const Arguments& args) {
  const int64_t n = args.whole("N");
  return holds(args.relation("quantifier"), std::ssize(split_words(text.text())), n, tenth(n));
}

bool verify_sentence_constraint(const CheckedText& text, const Arguments& args) {
  const int64_t n = args.whole("N");
  return holds(args.relation("quantifier"), count_sentences(text.text()), n, 1);
}

bool verify_postscript(const CheckedText& text, const Arguments& args) {
  const std::string marker = args.text("postscript_marker");
  const size_t at = text.text().find(marker);
  return at != std::string_view::npos && !is_blank(text.text().substr(at + marker.size()));
}

bool validate_choice(const CheckedText& text, const Arguments& args) {
  return std::ranges::any_of(args.texts("options"),
                             [&](const std::string& option) { return trimmed(option) == trimmed(text.text()); });
}

bool validate_sections(const CheckedText& text, const Arguments& args) {
  const std::string splitter = args.text("section_splitter");
  const int64_t n = args.whole("N");
  return static_cast<int64_t>(count_whole_words(text.text(), splitter)) == n;
}

bool validate_frequency_capital_words(const CheckedText& text, const Arguments& args) {
  const int64_t n = args.whole("N");
  return holds(args.relation("quantifier"), text.count(R"(\b[A-Z]+\b)"), n, tenth(n));
}

constexpr InstructionKind kRollFunctions[] = {
    {"verify_keywords",
     [](const CheckedText& t, const Arguments& a) { return has_all_keywords(t, a.texts("keyword_list")); }},
    {"verify_keyword_frequency", verify_keyword_frequency},
    {"validate_forbidden_words",
     [](const CheckedText& t, const Arguments& a) { return has_none(t, a.texts("forbidden_words")); }},
    {"verify_letter_frequency", verify_letter_frequency},
    {"validate_response_language",
     [](const CheckedText& t, const Arguments& a) { return is_in_language(t, a, "language"); }},
    {"verify_paragraph_count", verify_paragraph_count},
    {"validate_word_constraint", validate_word_constraint},
    {"verify_sentence_constraint", verify_sentence_constraint},
    {"validate_paragraphs",
     [](const CheckedText& t, const Arguments& a) {
       return has_first_word(t, read_first_word(a, {"N", "i", "first_word"}));
     }},
    {"verify_postscript", verify_postscript},
    {"validate_placeholders",
     [](const CheckedText& t, const Arguments& a) { return count_placeholders(t) >= a.whole("N"); }},
    {"verify_bullet_points", [](const CheckedText& t, const Arguments& a) { return count_bullets(t) == a.whole("N"); }},
    {"validate_title", [](const CheckedText& t, const Arguments&) { return has_title(t); }},
    {"validate_choice", validate_choice},
    {"validate_highlighted_sections",
     [](const CheckedText& t, const Arguments& a) { return count_highlights(t) >= a.whole("N"); }},
    {"validate_sections", validate_sections},
    {"validate_json_format", [](const CheckedText& t, const Arguments&) { return is_json(t.text()); }},
    {"validate_repeat_prompt",
     [](const CheckedText& t, const Arguments& a) { return t.text().starts_with(a.exact_text("original_prompt")); }},
    {"validate_two_responses",
     [](const CheckedText& t, const Arguments&) { return has_two_responses(t.text(), /*ends_may_be_blank=*/false); }},
    {"validate_uppercase", [](const CheckedText& t, const Arguments&) { return is_all_uppercase(t.text()); }},
    {"validate_lowercase", [](const CheckedText& t, const Arguments&) { return is_all_lowercase(t.text()); }},
    {"validate_frequency_capital_words", validate_frequency_capital_words},
    {"validate_end",
     [](const CheckedText& t, const Arguments& a) { return trimmed(t.text()).ends_with(a.text("end_phrase")); }},
    {"validate_quotation", [](const CheckedText& t, const Arguments&) { return is_quoted(t.text()); }},
    {"validate_no_commas",
     [](const CheckedText& t, const Arguments&) { return t.text().find(',') == std::string_view::npos; }},
};

}  // namespace

std::span<const InstructionKind> roll_functions() {
  return kRollFunctions;
}

}  // namespace roll::ifeval
