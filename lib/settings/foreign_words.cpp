#include "settings/foreign_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "config/walk.h"

namespace roll {

std::optional<ForeignWord> word_among(const std::vector<std::string>& paths, const std::string& word) {
  auto known = foreign_word(word);
  if (!known || known->keys.empty()) return known;
  const auto is_key = [&](const std::string& path) { return std::ranges::find(paths, path) != paths.end(); };
  constexpr std::string_view kPolicy = "actor_train.";
  std::vector<std::string> keys;
  for (std::string& key : known->keys) {
    if (!is_key(key) && key.starts_with(kPolicy)) key = "sft_train." + key.substr(kPolicy.size());
    if (is_key(key)) keys.push_back(key);
  }
  known->keys = keys;
  return keys.empty() ? std::nullopt : known;
}

std::string word_text(const ForeignWord& word) {
  if (word.keys.empty()) return word.how;
  return fmt::format("here it is {}{}{}", fmt::join(word.keys, " or "), word.how.empty() ? "" : ", ", word.how);
}

std::string foreign_advice(const AnyMember& example, const std::string& word) {
  std::vector<std::string> paths;
  walk(example, WalkDepth::kExamples, [&](const KeyInfo& info, const AnyMember&) { paths.push_back(info.path); });
  const auto known = word_among(paths, word);
  return known ? "; " + word_text(*known) : "";
}

}  // namespace roll
