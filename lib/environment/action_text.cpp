#include "environment/action_text.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/trim.h"

namespace roll {

namespace {

Regex compile_pattern(const std::string& pattern, const std::string& where) {
  try {
    Regex regex(pattern, {.dot_all = true});
    if (regex.num_groups() > 0) return regex;
  } catch (const RegexError& e) {
    throw user_error("{}action_pattern = {}: {} at byte {}; repair the expression", where, pattern, e.what(), e.offset);
  }
  throw user_error("{}action_pattern = {}: has no group ( ) for the action; write one, such as <answer>(.*?)</answer>",
                   where, pattern);
}

bool same_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(a, b, [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

ActionText::ActionText(const std::string& pattern, const std::string& where)
    : regex_(compile_pattern(pattern, where)), memory_(regex_.num_groups()) {}

std::optional<std::string> ActionText::find(std::string_view message) try {
  if (!regex_.find(message, 0, memory_)) return std::nullopt;
  const auto group = memory_.group(regex_.num_groups());
  if (!group) return std::nullopt;
  return std::string(trimmed_text(message.substr(group->begin, group->end - group->begin)));
} catch (const MatchFailed&) {
  return std::nullopt;
}

std::optional<int64_t> ActionText::find(std::string_view message, const Names& names) {
  if (const auto action = find(message))
    for (const auto& [number, name] : names)
      if (same_ignoring_case(name, *action)) return number;
  return std::nullopt;
}

Names renamed(const Names& defaults, const std::map<std::string, std::string>& replacements, const std::string& where) {
  Names names = defaults;
  for (const auto& [number, name] : replacements) {
    const auto found =
        std::ranges::find_if(names, [&](const auto& entry) { return std::to_string(entry.first) == number; });
    if (found == names.end())
      throw user_error("{}: {} is not a known number; the numbers are {} to {}", where, number, defaults.begin()->first,
                       defaults.rbegin()->first);
    if (name.empty()) throw user_error("{}: the name of {} is empty; give it one", where, number);
    found->second = name;
  }
  return names;
}

std::string vocabulary(const Names& symbols, const Names& meanings,
                       const std::map<std::string, std::string>& replacements) {
  std::vector<std::string> words;
  for (const auto& [number, symbol] : symbols) {
    const auto meaning = replacements.find(symbol);
    words.push_back(
        fmt::format("{}: {}", symbol, meaning == replacements.end() ? meanings.at(number) : meaning->second));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string grid_instruction(const std::string& rules, const std::string& symbols, const Names& actions) {
  if (rules.empty()) return "";
  std::vector<std::string> names;
  for (const auto& [number, name] : actions) names.push_back(name);
  return fmt::format("{}\nThe meaning of each symbol in the state is:\n{}\nYour available actions are:\n{}", rules,
                     symbols, fmt::join(names, ", "));
}

}  // namespace roll
