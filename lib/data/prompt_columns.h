// Finds the prompt in the columns of fine-tuning and preference rows.
#pragma once

#include <optional>
#include <string>

#include "data/learnt_rows.h"

namespace roll {

struct ColumnChat {
  std::string name;
  Json chat;
};
struct ColumnText {
  std::string name, text;
};

/// The prompt columns of a row; several may be present.
struct PromptColumns {
  std::optional<ColumnChat> messages;  // column messages or conversations
  std::optional<ColumnChat> prompt;    // column prompt, if it is a list
  std::optional<ColumnText> question;  // text of a user message
  std::optional<ColumnText> text;      // raw prompt

  bool is_empty() const { return !messages && !prompt && !question && !text; }
  std::string list_names() const;  // e.g. "messages and prompt"
  /// Returns the prompt as messages; nullopt if it is raw, unless `is_chat` makes it a user message.
  std::optional<Json> prompt_chat(bool is_chat) const;
  /// UserError (row.origin): two columns hold different prompts. `is_answered`: the response is in another column, so a
  /// text must be the last user message.
  void require_agreement(const Row& row, bool is_answered) const;
};

/// Reads the columns that `columns` names. By default: messages or conversations, prompt as text or list, and ROLL's
/// instruction for pairs. UserError: a column has the wrong type.
PromptColumns find_prompt_columns(const Row& row, const RowColumns& columns, LearntRows kind);

/// Returns true if the message is the user's and equals `text` up to surrounding blanks.
bool is_question(const Json& message, const std::string& text);

/// Makes the error for a row without a prompt; lists its columns and the nearest layout.
UserError no_prompt(const Row& row, const RowColumns& columns);

}  // namespace roll
