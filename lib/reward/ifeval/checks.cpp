#include "reward/ifeval/checks.h"

#include <algorithm>

#include "base/error.h"
#include "reward/ifeval/language.h"
#include "reward/text_measures.h"
#include "unicode/unicode.h"

namespace roll::ifeval {

bool has_all_keywords(const CheckedText& text, const std::vector<std::string>& keywords) {
  const std::string folds = fold(text.text());
  return std::ranges::all_of(keywords,
                             [&](const std::string& word) { return folds.find(fold(word)) != std::string::npos; });
}

bool has_none(const CheckedText& text, const std::vector<std::string>& words) {
  const std::string folds = fold(text.text());
  return std::ranges::none_of(words, [&](const std::string& word) { return count_whole_words(folds, fold(word)) > 0; });
}

int64_t count_placeholders(const CheckedText& text) {
  return text.count(R"(\[.*?\])");
}

int64_t count_bullets(const CheckedText& text) {
  return text.count(R"((?m)^\s*\*[^*].*$)") + text.count(R"((?m)^\s*-.*$)");
}

int64_t count_highlights(const CheckedText& text) {
  const auto has_content = [](std::string_view mark) {
    return std::ranges::any_of(split_words(mark),
                               [](std::string_view word) { return word.find_first_not_of('*') != word.npos; });
  };
  return std::ranges::count_if(text.find_all(R"(\*[^\n*]*\*)"), has_content) +
         std::ranges::count_if(text.find_all(R"(\*\*[^\n*]*\*\*)"), has_content);
}

bool has_title(const CheckedText& text) {
  return std::ranges::any_of(text.find_all(R"(<<[^\n]+>>)"), [](std::string_view title) {
    title.remove_prefix(std::min(title.find_first_not_of('<'), title.size()));
    title.remove_suffix(title.size() - std::min(title.find_last_not_of('>') + 1, title.size()));
    return !is_blank(title);
  });
}

bool is_quoted(std::string_view text) {
  text = trimmed(text);
  return text.size() > 1 && text.starts_with('"') && text.ends_with('"');
}

std::optional<std::vector<std::string_view>> divided(std::string_view text, std::string_view divider,
                                                     bool ends_may_be_blank) {
  std::vector<std::string_view> parts = split(text, divider);
  if (ends_may_be_blank && is_blank(parts.back())) parts.pop_back();
  if (ends_may_be_blank && !parts.empty() && is_blank(parts.front())) parts.erase(parts.begin());
  if (std::ranges::any_of(parts, is_blank)) return std::nullopt;
  return parts;
}

bool has_two_responses(std::string_view text, bool ends_may_be_blank) {
  const auto parts = divided(text, "******", ends_may_be_blank);
  return parts && parts->size() == 2 && trimmed((*parts)[0]) != trimmed((*parts)[1]);
}

FirstWord read_first_word(const Arguments& args, const FirstWordKeys& keys) {
  FirstWord wanted{args.whole(keys.num_paragraphs), args.whole(keys.nth), args.text(keys.word)};
  if (wanted.nth < 1 || wanted.nth > wanted.num_paragraphs)
    throw user_error("{} = {}: must be in 1..{}", keys.nth, wanted.nth, wanted.num_paragraphs);
  return wanted;
}

bool has_first_word(const CheckedText& text, const FirstWord& wanted) {
  std::vector<std::string_view> paragraphs = split(text.lowered(), "\n\n");
  std::erase_if(paragraphs, is_blank);
  if (std::ssize(paragraphs) != wanted.num_paragraphs) return false;
  std::string_view paragraph = trimmed(paragraphs[static_cast<size_t>(wanted.nth - 1)]);
  paragraph.remove_prefix(std::min(paragraph.find_first_not_of("'\""), paragraph.size()));
  const std::string word = lower(wanted.word);
  if (!paragraph.starts_with(word)) return false;
  size_t next = word.size();
  const std::string_view rest = paragraph.substr(next);
  return rest.empty() || !(rest.starts_with('-') || is_word(next_code_point(paragraph, next)));
}

bool is_in_language(const CheckedText& text, const Arguments& args, const char* key) {
  const std::string wanted = find_language(args.text(key));
  if (wanted.empty())
    throw user_error("{} = {}: unknown language; give its ISO 639-1 code, such as \"fr\"", key, args.text(key));
  return is_language(detect_language(text.text()).code, wanted);
}

}  // namespace roll::ifeval
