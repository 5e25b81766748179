#include "reward/choice/choice_answer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/nearest.h"
#include "reward/choice/choice_letter.h"
#include "reward/text_measures.h"

namespace roll {

namespace {

bool is_capital(char c) {
  return c >= 'A' && c <= 'Z';
}

/// Adds the choice of a line "A. Paris", "(A) Paris", "A) Paris" or "A: Paris".
void add_line(std::string_view line, Choices& choices) {
  const std::string text = stripped(line);
  size_t at = text.starts_with('(') || text.starts_with('[') ? 1 : 0;
  if (at + 1 >= text.size() || !is_capital(text[at]) ||
      std::string_view(".):]").find(text[at + 1]) == std::string::npos)
    return;
  if (const std::string choice = stripped(text.substr(at + 2)); !choice.empty()) choices[text[at]] = choice;
}

void add_list(const Json& list, Choices& choices) {
  char letter = 'A';
  for (const Json& item : list) {
    if (!item.is_string() || letter > 'Z') return;
    Choices labelled;
    add_line(item.get_ref<const std::string&>(), labelled);  // "A. Paris"
    choices[letter] = labelled.contains(letter) ? labelled[letter] : stripped(item.get<std::string>());
    ++letter;
  }
}

void add_column(const Json& column, Choices& choices) {
  if (column.is_array()) return add_list(column, choices);
  if (!column.is_object()) return;
  for (const auto& item : column.items())
    if (item.key().size() == 1 && is_capital(item.key()[0]) && item.value().is_string())
      choices[item.key()[0]] = stripped(item.value().get<std::string>());
}

/// Returns whether the text between two boxes joins them to one answer: "or", "and", a comma or nothing.
bool joins(std::string_view between) {
  const std::string plain = without_markup(between);
  return plain.empty() || plain == "or" || plain == "and" || plain == "," || plain == "/" || plain == ", or";
}

std::optional<ChoiceAnswer> last_box(std::string_view text) {
  std::optional<ChoiceAnswer> last;
  std::vector<size_t> open;
  size_t last_end = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{') open.push_back(i);
    if (text[i] != '}' || open.empty()) continue;
    const size_t begin = open.back();
    open.pop_back();
    if (!text.substr(0, begin).ends_with("\\boxed") || begin + 1 == i) continue;
    const size_t outer = begin - std::string_view("\\boxed").size();
    const std::string inside(text.substr(begin + 1, i - begin - 1));
    const bool is_joined = last && last->text.size() < 100 && outer >= last_end && outer - last_end < 20 &&
                           joins(text.substr(last_end, outer - last_end));
    last = {is_joined ? last->text + " or " + inside : inside, true};
    last_end = i + 1;
  }
  return last;
}

/// Returns the end of the last of these phrases; npos if there is none.
size_t behind_last_phrase(std::string_view text) {
  const std::string lowered = lower_ascii(text);
  size_t behind = std::string::npos;
  for (const std::string_view phrase : {"answer is", "answer:", "answer would be", "option is", "choice is"})
    if (const size_t at = lowered.rfind(phrase); at != std::string::npos)
      behind = behind == std::string::npos ? at + phrase.size() : std::max(behind, at + phrase.size());
  return behind;
}

char letter_by_text(std::string_view text, const Choices& choices) {
  for (const auto& [letter, listed] : choices) {
    const std::string choice = without_markup(listed);
    for (const std::string_view candidate : {text, behind_introduction(text)})
      if (same_text(candidate, choice, /*ignore_case=*/true) || same_text(std::string(candidate) + ".", choice, true) ||
          same_text(candidate, choice + ".", true))
        return letter;
  }
  return 0;
}

std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find('\n'));
}

std::string_view last_line(std::string_view text) {
  return text.substr(text.rfind('\n') + 1);
}

/// Returns the letter in a whole response: from its last line, or from its first line if that is a choice ("B. Paris"),
/// or the only marked letter.
char find_response_letter(std::string_view plain) {
  if (const char letter = leading_letter(last_line(plain))) return letter;
  const std::string_view first = first_line(plain);
  const bool is_choice =
      first.size() == 1 || (first.size() > 1 && std::string_view(".):(").find(first[1]) != first.npos);
  if (const char letter = is_choice || first.starts_with('(') ? leading_letter(first) : 0) return letter;
  return marked_letter(plain);
}

char find_letter(const ChoiceAnswer& answer, std::string_view plain) {
  if (answer.is_whole) return find_response_letter(plain);
  if (const char letter = leading_letter(plain)) return letter;
  return marked_letter(answer.is_boxed ? plain : first_line(plain));
}

}  // namespace

Choices find_choices(const Json& row, std::string_view prompt) {
  Choices choices;
  if (row.is_object())
    for (const char* const name : {"options", "choices"})
      if (const auto column = row.find(name); column != row.end() && choices.empty()) add_column(*column, choices);
  if (!choices.empty()) return choices;
  for (size_t begin = 0; begin < prompt.size();) {
    const size_t end = std::min(prompt.size(), prompt.find('\n', begin));
    const std::string_view line = prompt.substr(begin, end - begin);
    add_line(line.substr(0, line.find("<|")), choices);  // without the chat template's end marker
    begin = end + 1;
  }
  return choices;
}

ChoiceAnswer find_choice(std::string_view response) {
  if (auto box = last_box(response)) return *box;
  const std::string plain = without_markup(response);
  const size_t behind = behind_last_phrase(plain);
  if (behind == std::string::npos) return {.text = stripped(response), .is_whole = true};
  return {.text = stripped(
              std::string_view(plain).substr(std::min(plain.size(), behind + (plain.substr(behind, 1) == ":"))))};
}

ChosenLetter chosen_letter(const ChoiceAnswer& answer, const Choices& choices) {
  const std::string plain = without_markup(answer.text);
  if (const char letter = letter_by_text(plain, choices)) return {letter, "text"};
  const char letter = find_letter(answer, plain);
  return letter != 0 ? ChosenLetter{letter, "letter"} : ChosenLetter{};
}

}  // namespace roll
