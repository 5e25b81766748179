#include "data/prompt_columns.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/trim.h"
#include "data/chats.h"
#include "data/columns.h"

namespace roll {

namespace {

constexpr const char* kOneIsWrong =
    "one of the two columns is wrong; remove it, or name the right one in data_args.messages, data_args.question or "
    "data_args.prompt";

const Json* find_filled(const Row& row, const std::optional<std::string>& path) {
  const Json* value = path ? find_column(row.raw, *path) : nullptr;
  return value && !value->is_null() ? value : nullptr;
}

std::string read_text(const Row& row, const std::string& path, const Json& value) {
  if (!value.is_string())
    throw wrong_column(row.origin, path, value,
                       value.is_array() ? "a string (name a list of messages in data_args.messages)" : "a string");
  return value.get<std::string>();
}

/// Reads messages or ShareGPT's conversations; both must agree if present.
std::optional<ColumnChat> find_chat(const Row& row) {
  std::optional<ColumnChat> found;
  for (const char* name : {"messages", "conversations"})
    if (const Json* value = column(row.raw, name)) {
      Json chat = parse_chat(*value, row.origin, name);
      if (found && !is_same(found->chat, chat))
        throw user_error("{}: {} differ from messages: {}", row.origin, name, kOneIsWrong);
      if (!found) found = {name, std::move(chat)};
    }
  return found;
}

void require_question(const Row& row, const ColumnText& text, const ColumnChat& chat, bool as_last) {
  const auto is_user = [](const Json& message) { return message["role"] == "user"; };
  const auto equals_text = [&](const Json& message) { return is_question(message, text.text); };
  const Json& messages = chat.chat;
  const auto last = std::find_if(messages.rbegin(), messages.rend(), is_user);
  const bool is_contained = as_last ? last != messages.rend() && equals_text(*last)
                                    : std::any_of(messages.begin(), messages.end(), equals_text);
  if (!is_contained)
    throw user_error("{}: {}: is not {} in {}, so {}", row.origin, text.name,
                     as_last ? "the user's last message" : "a user message", chat.name, kOneIsWrong);
}

}  // namespace

bool is_question(const Json& message, const std::string& text) {
  return message["role"] == "user" && trimmed_text(content_text(message)) == trimmed_text(text);
}

std::string PromptColumns::list_names() const {
  std::vector<std::string> names;
  for (const auto* chat : {&messages, &prompt})
    if (*chat) names.push_back((*chat)->name);
  for (const auto* column : {&question, &text})
    if (*column) names.push_back((*column)->name);
  return fmt::format("{}", fmt::join(names, " and "));
}

std::optional<Json> PromptColumns::prompt_chat(bool is_chat) const {
  if (messages) return messages->chat;
  if (prompt) return prompt->chat;
  const ColumnText* user_text = question ? &*question : is_chat ? &*text : nullptr;
  if (!user_text) return std::nullopt;
  return Json{{{"role", "user"}, {"content", user_text->text}}};
}

void PromptColumns::require_agreement(const Row& row, bool is_answered) const {
  if (messages && prompt && !starts_with(messages->chat, prompt->chat))
    throw user_error("{}: {} do not begin with {}, so {}", row.origin, messages->name, prompt->name, kOneIsWrong);
  for (const auto* column_text : {&question, &text})
    for (const auto* chat : {&messages, &prompt})
      if (*column_text && *chat) require_question(row, **column_text, **chat, is_answered);
  if (question && text && trimmed_text(question->text) != trimmed_text(text->text))
    throw user_error("{}: {} differs from {}, so {}", row.origin, text->name, question->name, kOneIsWrong);
}

PromptColumns find_prompt_columns(const Row& row, const RowColumns& columns, LearntRows kind) {
  PromptColumns found;
  const bool is_named = columns.names_prompt();
  if (!is_named) found.messages = find_chat(row);
  if (const Json* chat = find_filled(row, columns.messages))
    found.messages = {*columns.messages, parse_chat(*chat, row.origin, *columns.messages)};
  const auto question =
      is_named || kind != LearntRows::kPairs ? columns.question : std::optional<std::string>("instruction");
  if (const Json* text = find_filled(row, question)) {
    found.question = {*question, read_text(row, *question, *text)};
    if (const Json* query = find_filled(row, columns.query))
      if (const std::string query_text = read_text(row, *columns.query, *query); !query_text.empty())
        found.question->text += "\n" + query_text;
  }
  const auto prompt = is_named ? columns.prompt : std::optional<std::string>("prompt");
  if (const Json* value = find_filled(row, prompt)) {
    if (value->is_array() && !is_named)
      found.prompt = {*prompt, parse_chat(*value, row.origin, *prompt)};
    else
      found.text = {*prompt, read_text(row, *prompt, *value)};
  }
  return found;
}

UserError no_prompt(const Row& row, const RowColumns& columns) {
  std::string wanted;
  for (const auto* path : {&columns.messages, &columns.question, &columns.prompt})
    if (*path) wanted += (wanted.empty() ? "" : "' or '") + **path;
  return user_error(
      "{}: the row has no column '{}' for its prompt; it has: {}; name the right one in data_args.messages (a list of "
      "messages), data_args.question (the user's text) or data_args.prompt (raw text){}",
      row.origin, wanted.empty() ? "messages' or 'prompt" : wanted, column_names(row.raw), nearest_layout(row.raw));
}

}  // namespace roll
