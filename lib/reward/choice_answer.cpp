#include "reward/choice_answer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "reward/same_text.h"

namespace roll {

namespace {

bool is_capital(char c) {
  return c >= 'A' && c <= 'Z';
}

/// Of an ASCII word, or a byte of any other character.
bool is_in_word(char c) {
  return is_capital(c) || (c >= 'a' && c <= 'z') || (c & 0x80) != 0;
}

/// "A. Paris", "(A) Paris", "A) Paris", "A: Paris".
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

std::optional<ChoiceAnswer> last_box(std::string_view text) {
  std::optional<ChoiceAnswer> last;
  std::vector<size_t> open;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{') open.push_back(i);
    if (text[i] != '}' || open.empty()) continue;
    const size_t begin = open.back();
    open.pop_back();
    if (text.substr(0, begin).ends_with("\\boxed") && begin + 1 < i)
      last = {std::string(text.substr(begin + 1, i - begin - 1)), true};
  }
  return last;
}

char letter_of_text(std::string_view answer, const Choices& choices) {
  std::string text = stripped(answer);
  while (text.ends_with('.')) text.pop_back();
  for (const auto& [letter, choice] : choices)
    if (same_text(text, choice, /*ignore_case=*/true) || same_text(text + ".", choice, true)) return letter;
  return 0;
}

}  // namespace

Choices choices_of(const Json& row, std::string_view prompt) {
  Choices choices;
  if (row.is_object())
    for (const char* const name : {"options", "choices"})
      if (const auto column = row.find(name); column != row.end() && choices.empty()) add_column(*column, choices);
  if (!choices.empty()) return choices;
  for (size_t begin = 0; begin < prompt.size();) {
    const size_t end = std::min(prompt.size(), prompt.find('\n', begin));
    const std::string_view line = prompt.substr(begin, end - begin);
    add_line(line.substr(0, line.find("<|")), choices);  // where a template's mark ends the prompt
    begin = end + 1;
  }
  return choices;
}

ChoiceAnswer find_choice(std::string_view response) {
  if (auto box = last_box(response)) return *box;
  std::string lowered(response);
  for (char& c : lowered) c = ascii_lower(c);
  constexpr std::string_view kPhrase = "answer is";
  const size_t at = lowered.rfind(kPhrase);
  return {std::string(at == std::string::npos ? response : response.substr(at + kPhrase.size())), false};
}

ChosenLetter chosen_letter(std::string_view answer, const Choices& choices) {
  const auto first = std::find_if(answer.begin(), answer.end(), is_capital);
  const auto at = static_cast<size_t>(first - answer.begin());
  const bool is_found = first != answer.end();
  const bool begins_word = is_found && at + 1 < answer.size() && is_in_word(answer[at + 1]);
  if (is_found && !begins_word) return {*first, "letter"};
  if (const char letter = letter_of_text(answer, choices)) return {letter, "text"};
  return is_found ? ChosenLetter{*first, "letter"} : ChosenLetter{};
}

}  // namespace roll
