#include "data/leaks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>

#include "base/harmless.h"
#include "base/terminal.h"

namespace roll {

namespace {

constexpr std::array<std::string_view, 8> kRoles = {"system", "developer", "user",    "assistant",
                                                    "tool",   "function",  "ipython", "environment"};

constexpr int kRoleColumns = 40;  // of what a row says

const std::string& text_of(const Json& message, const char* part) {
  return message[part].get_ref<const std::string&>();
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  return begin == std::string_view::npos ? "" : text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
}

bool ends_with_assistant(const Row& row) {
  return row.messages && text_of(row.messages->back(), "role") == "assistant";
}

std::string count_rows(size_t n) {
  return fmt::format("{} {}", n, n == 1 ? "row" : "rows");
}

}  // namespace

std::string list_origins(const std::vector<std::string>& origins, size_t most) {
  const size_t shown = std::min(origins.size(), most);
  std::string text =
      fmt::format("{}", fmt::join(origins.begin(), origins.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (origins.size() > shown) text += fmt::format(" and {} more", origins.size() - shown);
  return text;
}

std::string warning_of_roles(std::span<const Row> rows, size_t most) {
  std::set<std::string> roles;
  std::vector<std::string> origins;
  for (const Row& row : rows) {
    if (!row.messages) continue;
    const size_t before = origins.size();
    for (const Json& message : *row.messages) {
      const std::string& role = text_of(message, "role");
      if (std::ranges::find(kRoles, role) != kRoles.end()) continue;
      roles.insert(cut_to_width(on_one_line(role), kRoleColumns));
      if (origins.size() == before) origins.push_back(row.origin);
    }
  }
  if (origins.empty()) return "";
  return fmt::format(
      "the role{} {} in {} ({}): chat templates know system, user, assistant and tool, and models nothing else; rename "
      "{}, as human to user and gpt to assistant",
      roles.size() == 1 ? "" : "s", fmt::join(roles, ", "), count_rows(origins.size()), list_origins(origins, most),
      roles.size() == 1 ? "it" : "them");
}

std::string warning_of_answers(std::span<const Row> rows, size_t most, bool are_sampled) {
  std::vector<std::string> ending, showing;
  for (const Row& row : rows) {
    if (!ends_with_assistant(row)) continue;
    const std::string_view truth = trimmed(row.ground_truth);
    if (truth.empty() && !are_sampled) continue;
    const bool shows = !truth.empty() && text_of(row.messages->back(), "content").find(truth) != std::string::npos;
    (shows ? showing : ending).push_back(row.origin);
  }
  std::string text;
  if (!showing.empty())
    text = fmt::format(
        "{} of the assistant's answer as the last message, with the ground truth in it ({}): the policy reads the "
        "answer before it is asked; leave that message out",
        count_rows(showing.size()), list_origins(showing, most));
  if (!ending.empty())
    text += fmt::format(
        "{}{} with the assistant's message as the last ({}): a response begins behind a finished turn; "
        "leave that message out",
        text.empty() ? "" : "; ", count_rows(ending.size()), list_origins(ending, most));
  return text;
}

std::string prompt_key(const Row& row) {
  if (!row.messages) return std::string(trimmed(row.prompt));
  std::string key;
  for (const Json& message : *row.messages) {
    const std::string& role = text_of(message, "role");
    // What the row shows of the answer, or how the task is introduced, makes no other question of it.
    if (role == "system" || (role == "assistant" && &message == &row.messages->back())) continue;
    key += fmt::format("{}{}", key.empty() ? "" : "\n", trimmed(text_of(message, "content")));
  }
  return key;
}

KeyedRows keyed_rows(std::span<const Row> rows) {
  KeyedRows keyed;
  for (const Row& row : rows) keyed.emplace_back(prompt_key(row), row.origin);
  return keyed;
}

std::vector<std::string> warnings_of_prompts(std::span<const Row> rows, size_t most, bool are_sampled) {
  std::vector<std::string> warnings{warning_of_answers(rows, most, are_sampled), warning_of_roles(rows, most)};
  std::erase(warnings, "");
  return warnings;
}

std::string warning_of_shared(const KeyedRows& training, const KeyedRows& validation, size_t most) {
  std::unordered_map<std::string_view, std::string_view> first_of;
  for (const auto& [key, origin] : training) first_of.emplace(key, origin);
  std::vector<std::string> shared;
  for (const auto& [key, origin] : validation)
    if (const auto found = first_of.find(key); found != first_of.end())
      shared.push_back(origin == found->second ? origin : fmt::format("{} is {}", origin, found->second));
  if (shared.empty()) return "";
  return fmt::format(
      "{} of {} validation rows are training rows too ({}): the validation measures what was learnt by heart; take "
      "them "
      "out of one of the two",
      shared.size(), validation.size(), list_origins(shared, most));
}

}  // namespace roll
