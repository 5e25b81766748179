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

const std::string& message_role(const Json& message) {
  return message["role"].get_ref<const std::string&>();
}

bool ends_with_assistant(const Row& row) {
  return row.messages && message_role(row.messages->back()) == "assistant";
}

std::string count_rows(size_t n) {
  return fmt::format("{} {}", n, n == 1 ? "row" : "rows");
}

}  // namespace

void Origins::add(const std::string& origin) {
  if (listed_.size() < max_listed_) listed_.push_back(origin);
  ++count_;
}

std::string Origins::text() const {
  const std::string shown = fmt::format("{}", fmt::join(listed_, ", "));
  return count_ > listed_.size() ? fmt::format("{} and {} more", shown, count_ - listed_.size()) : shown;
}

void PromptWarnings::add(const Row& row) {
  if (!row.messages) return;
  bool has_unknown_role = false;
  for (const Json& message : *row.messages) {
    const std::string& role = message_role(message);
    if (std::ranges::find(kRoles, role) != kRoles.end()) continue;
    roles_.insert(cut_to_width(on_one_line(role), kRoleColumns));
    has_unknown_role = true;
  }
  if (has_unknown_role) unknown_role_rows_.add(row.origin);
  if (!ends_with_assistant(row)) return;
  const std::string_view truth = trimmed_text(row.ground_truth);
  if (truth.empty() && !are_sampled_) return;
  const bool shows_truth = !truth.empty() && content_text(row.messages->back()).find(truth) != std::string::npos;
  (shows_truth ? truth_rows_ : answered_rows_).add(row.origin);
}

std::string PromptWarnings::role_warnings() const {
  if (unknown_role_rows_.size() == 0) return "";
  return fmt::format(
      "the role{} {} in {} ({}): chat templates and models know only system, user, assistant and tool; rename {}, for "
      "example human to user and gpt to assistant",
      roles_.size() == 1 ? "" : "s", fmt::join(roles_, ", "), count_rows(unknown_role_rows_.size()),
      unknown_role_rows_.text(), roles_.size() == 1 ? "it" : "them");
}

std::string PromptWarnings::answer_warnings() const {
  std::string text;
  if (truth_rows_.size() > 0)
    text = fmt::format(
        "{} with the assistant's answer as the last message, including the ground truth ({}): the policy reads the "
        "answer before it responds; remove that message",
        count_rows(truth_rows_.size()), truth_rows_.text());
  if (answered_rows_.size() > 0)
    text += fmt::format(
        "{}{} with an assistant message as the last ({}): a response would follow a finished turn; remove that message",
        text.empty() ? "" : "; ", count_rows(answered_rows_.size()), answered_rows_.text());
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
    const std::string& role = message_role(message);
    // System messages and a shown answer do not change the question.
    if (role == "system" || (role == "assistant" && &message == &row.messages->back())) continue;
    key += fmt::format("{}{}", key.empty() ? "" : "\n", trimmed_text(content_text(message)));
  }
  return fnv1a(key);
}

std::string overlap_warning(const PromptKeys& training, const PromptKeys& validation, size_t max_listed) {
  constexpr int64_t kNoRow = -1;
  std::unordered_map<uint64_t, int64_t> first_training_row;  // first training row with that question
  for (const uint64_t key : validation.keys) first_training_row.emplace(key, kNoRow);
  for (size_t row = 0; row < training.keys.size() && !first_training_row.empty(); ++row)
    if (const auto found = first_training_row.find(training.keys[row]);
        found != first_training_row.end() && found->second == kNoRow)
      found->second = static_cast<int64_t>(row);
  Origins shared(max_listed);
  for (size_t row = 0; row < validation.keys.size(); ++row)
    if (const int64_t training_row = first_training_row.at(validation.keys[row]); training_row != kNoRow) {
      const std::string origin = validation.origin(static_cast<int64_t>(row)),
                        training_origin = training.origin(training_row);
      shared.add(origin == training_origin ? origin : fmt::format("{} is {}", origin, training_origin));
    }
  if (shared.size() == 0) return "";
  return fmt::format(
      "{} of {} validation rows are training rows too ({}): the validation measures memorised answers; remove these "
      "rows from one of the two sets",
      shared.size(), validation.keys.size(), shared.text());
}

}  // namespace roll
