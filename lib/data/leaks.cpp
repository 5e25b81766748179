#include "data/leaks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include "base/bytes.h"
#include "base/harmless.h"
#include "base/terminal.h"
#include "base/trim.h"
#include "data/chats.h"

namespace roll {

namespace {

constexpr std::array<std::string_view, 8> kRoles = {"system", "developer", "user",    "assistant",
                                                    "tool",   "function",  "ipython", "environment"};

constexpr int kRoleColumns = 40;  // maximum width of a shown role

const std::string& role_of(const Json& message) {
  return message["role"].get_ref<const std::string&>();
}

bool ends_with_assistant(const Row& row) {
  return row.messages && role_of(row.messages->back()) == "assistant";
}

std::string count_rows(size_t n) {
  return fmt::format("{} {}", n, n == 1 ? "row" : "rows");
}

}  // namespace

void Origins::add(const std::string& origin) {
  if (first_.size() < most_) first_.push_back(origin);
  ++count_;
}

std::string Origins::text() const {
  const std::string shown = fmt::format("{}", fmt::join(first_, ", "));
  return count_ > first_.size() ? fmt::format("{} and {} more", shown, count_ - first_.size()) : shown;
}

void PromptWarnings::add(const Row& row) {
  if (!row.messages) return;
  bool is_odd = false;
  for (const Json& message : *row.messages) {
    const std::string& role = role_of(message);
    if (std::ranges::find(kRoles, role) != kRoles.end()) continue;
    roles_.insert(cut_to_width(on_one_line(role), kRoleColumns));
    is_odd = true;
  }
  if (is_odd) odd_.add(row.origin);
  if (!ends_with_assistant(row)) return;
  const std::string_view truth = trimmed_text(row.ground_truth);
  if (truth.empty() && !are_sampled_) return;
  const bool shows = !truth.empty() && content_text(row.messages->back()).find(truth) != std::string::npos;
  (shows ? showing_ : ending_).add(row.origin);
}

std::string PromptWarnings::role_warnings() const {
  if (odd_.size() == 0) return "";
  return fmt::format(
      "the role{} {} in {} ({}): chat templates know system, user, assistant and tool, and models nothing else; rename "
      "{}, as human to user and gpt to assistant",
      roles_.size() == 1 ? "" : "s", fmt::join(roles_, ", "), count_rows(odd_.size()), odd_.text(),
      roles_.size() == 1 ? "it" : "them");
}

std::string PromptWarnings::answer_warnings() const {
  std::string text;
  if (showing_.size() > 0)
    text = fmt::format(
        "{} of the assistant's answer as the last message, with the ground truth in it ({}): the policy reads the "
        "answer before it is asked; leave that message out",
        count_rows(showing_.size()), showing_.text());
  if (ending_.size() > 0)
    text += fmt::format(
        "{}{} with the assistant's message as the last ({}): a response begins behind a finished turn; "
        "leave that message out",
        text.empty() ? "" : "; ", count_rows(ending_.size()), ending_.text());
  return text;
}

std::vector<std::string> PromptWarnings::all() const {
  std::vector<std::string> warnings{answer_warnings(), role_warnings()};
  std::erase(warnings, "");
  return warnings;
}

uint64_t prompt_key(const Row& row) {
  if (!row.messages) return fnv1a(trimmed_text(row.prompt));
  std::string key;
  for (const Json& message : *row.messages) {
    const std::string& role = role_of(message);
    // System messages and a shown answer do not change the question.
    if (role == "system" || (role == "assistant" && &message == &row.messages->back())) continue;
    key += fmt::format("{}{}", key.empty() ? "" : "\n", trimmed_text(content_text(message)));
  }
  return fnv1a(key);
}

std::string overlap_warning(const AskedPrompts& training, const AskedPrompts& validation, size_t most) {
  constexpr int64_t kNobody = -1;
  std::unordered_map<uint64_t, int64_t> first_of;  // first training row with that question
  for (const uint64_t key : validation.keys) first_of.emplace(key, kNobody);
  for (size_t row = 0; row < training.keys.size() && !first_of.empty(); ++row)
    if (const auto found = first_of.find(training.keys[row]); found != first_of.end() && found->second == kNobody)
      found->second = static_cast<int64_t>(row);
  Origins shared(most);
  for (size_t row = 0; row < validation.keys.size(); ++row)
    if (const int64_t same = first_of.at(validation.keys[row]); same != kNobody) {
      const std::string origin = validation.origin(static_cast<int64_t>(row)), first = training.origin(same);
      shared.add(origin == first ? origin : fmt::format("{} is {}", origin, first));
    }
  if (shared.size() == 0) return "";
  return fmt::format(
      "{} of {} validation rows are training rows too ({}): the validation measures what was learnt by heart; take "
      "them out of one of the two",
      shared.size(), validation.keys.size(), shared.text());
}

}  // namespace roll
