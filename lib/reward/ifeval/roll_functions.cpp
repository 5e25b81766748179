// The functions that ROLL's rows name. Where ROLL's own differs from what its instruction says, this checks what the
// instruction says:
//   every function                      a blank response follows nothing; ROLL accepts it for an upper-case, lower-case
//   or
//                                       comma-free response and for a choice
//   verify_keyword_frequency            counts the keyword; ROLL compares each word with itself and counts all words
//   validate_forbidden_words            whole words; ROLL finds "art" in "start"
//   verify_sentence_constraint          "!" ends a sentence as well, and a line break at the end begins none
//   validate_paragraphs                 blank paragraphs count nothing; the first word is a word, in either case
//   verify_bullet_points                "**bold**" at a line's beginning is no bullet
//   validate_title, -highlighted_sections  an empty << >> or ** is none
//   validate_choice                     the response is an option; ROLL accepts any part of one
//   validate_sections                   what stands before the first splitter is no section
//   validate_two_responses              neither of the two is blank
//   validate_uppercase, -lowercase      there must be letters
//   validate_frequency_capital_words    "around" is as for words, not exact
//   validate_end, validate_quotation    white space at the ends does not count; one quotation mark does not wrap
#include <algorithm>

#include "reward/ifeval/checks.h"
#include "reward/ifeval/instruction.h"
#include "reward/ifeval/json_text.h"
#include "reward/ifeval/language.h"
#include "reward/ifeval/sentences.h"
#include "reward/text_measures.h"

namespace roll::ifeval {

namespace {

bool verify_keywords(const CheckedText& text, const Arguments& args) {
  return has_all_keywords(text, args.texts("keyword_list"));
}

bool verify_keyword_frequency(const CheckedText& text, const Arguments& args) {
  const std::string word = args.text("word");
  const int64_t n = args.whole("N");
  return static_cast<int64_t>(count_whole_words(fold(text.text()), fold(word))) == n;
}

bool validate_forbidden_words(const CheckedText& text, const Arguments& args) {
  return has_no_word_of(text, args.texts("forbidden_words"));
}

bool verify_letter_frequency(const CheckedText& text, const Arguments& args) {
  const std::string letter = args.letter("letter");
  const int64_t n = args.whole("N");
  return static_cast<int64_t>(count_parts(text.text(), letter)) == n;
}

bool validate_response_language(const CheckedText& text, const Arguments& args) {
  return is_in_language(text, args, "language");
}

bool verify_paragraph_count(const CheckedText& text, const Arguments& args) {
  const int64_t n = args.whole("N");
  const auto parts = divided(text.text(), "* * *", /*ends_may_be_blank=*/false);
  return parts && std::ssize(*parts) == n;
}

bool validate_word_constraint(const CheckedText& text, const Arguments& args) {
  const int64_t n = args.whole("N");
  return holds(args.relation("quantifier"), std::ssize(words_of(text.text())), n, tenth(n));
}

bool verify_sentence_constraint(const CheckedText& text, const Arguments& args) {
  const int64_t n = args.whole("N");
  return holds(args.relation("quantifier"), count_sentences(text.text()), n, 1);
}

bool validate_paragraphs(const CheckedText& text, const Arguments& args) {
  return has_first_word(text, first_word_of(args, {"N", "i", "first_word"}));
}

bool verify_postscript(const CheckedText& text, const Arguments& args) {
  const std::string marker = args.text("postscript_marker");
  const size_t at = text.text().find(marker);
  return at != std::string_view::npos && !is_blank(text.text().substr(at + marker.size()));
}

bool validate_placeholders(const CheckedText& text, const Arguments& args) {
  return count_placeholders(text) >= args.whole("N");
}

bool verify_bullet_points(const CheckedText& text, const Arguments& args) {
  return count_bullets(text) == args.whole("N");
}

bool validate_title(const CheckedText& text, const Arguments&) {
  return has_title(text);
}

bool validate_choice(const CheckedText& text, const Arguments& args) {
  return std::ranges::any_of(args.texts("options"),
                             [&](const std::string& option) { return trimmed(option) == trimmed(text.text()); });
}

bool validate_highlighted_sections(const CheckedText& text, const Arguments& args) {
  return count_highlights(text) >= args.whole("N");
}

bool validate_sections(const CheckedText& text, const Arguments& args) {
  const std::string splitter = args.text("section_splitter");
  const int64_t n = args.whole("N");
  return static_cast<int64_t>(count_whole_words(text.text(), splitter)) == n;
}

bool validate_json_format(const CheckedText& text, const Arguments&) {
  return is_json(text.text());
}

bool validate_repeat_prompt(const CheckedText& text, const Arguments& args) {
  return text.text().starts_with(args.exact_text("original_prompt"));
}

bool validate_two_responses(const CheckedText& text, const Arguments&) {
  return has_two_responses(text.text(), /*ends_may_be_blank=*/false);
}

bool validate_uppercase(const CheckedText& text, const Arguments&) {
  return is_all_uppercase(text.text());
}

bool validate_lowercase(const CheckedText& text, const Arguments&) {
  return is_all_lowercase(text.text());
}

bool validate_frequency_capital_words(const CheckedText& text, const Arguments& args) {
  const int64_t n = args.whole("N");
  return holds(args.relation("quantifier"), text.count(R"(\b[A-Z]+\b)"), n, tenth(n));
}

bool validate_end(const CheckedText& text, const Arguments& args) {
  return trimmed(text.text()).ends_with(args.text("end_phrase"));
}

bool validate_quotation(const CheckedText& text, const Arguments&) {
  return is_quoted(text.text());
}

bool validate_no_commas(const CheckedText& text, const Arguments&) {
  return text.text().find(',') == std::string_view::npos;
}

constexpr InstructionKind kRollFunctions[] = {
    {"verify_keywords", verify_keywords},
    {"verify_keyword_frequency", verify_keyword_frequency},
    {"validate_forbidden_words", validate_forbidden_words},
    {"verify_letter_frequency", verify_letter_frequency},
    {"validate_response_language", validate_response_language},
    {"verify_paragraph_count", verify_paragraph_count},
    {"validate_word_constraint", validate_word_constraint},
    {"verify_sentence_constraint", verify_sentence_constraint},
    {"validate_paragraphs", validate_paragraphs},
    {"verify_postscript", verify_postscript},
    {"validate_placeholders", validate_placeholders},
    {"verify_bullet_points", verify_bullet_points},
    {"validate_title", validate_title},
    {"validate_choice", validate_choice},
    {"validate_highlighted_sections", validate_highlighted_sections},
    {"validate_sections", validate_sections},
    {"validate_json_format", validate_json_format},
    {"validate_repeat_prompt", validate_repeat_prompt},
    {"validate_two_responses", validate_two_responses},
    {"validate_uppercase", validate_uppercase},
    {"validate_lowercase", validate_lowercase},
    {"validate_frequency_capital_words", validate_frequency_capital_words},
    {"validate_end", validate_end},
    {"validate_quotation", validate_quotation},
    {"validate_no_commas", validate_no_commas},
};

}  // namespace

std::span<const InstructionKind> roll_functions() {
  return kRollFunctions;
}

}  // namespace roll::ifeval
