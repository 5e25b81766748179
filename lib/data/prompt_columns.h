// Finds the prompt in the columns of fine-tuning and preference rows, for row_forms.h.
#pragma once

#include <optional>
#include <string>

#include "data/learnt_rows.h"

namespace roll {

/// A column with chat messages.
struct ColumnChat {
  std::string name;
  Json chat;  // normalised messages (chats.h)
};
/// A column with a text.
struct ColumnText {
  std::string name, text;
};

/// The prompt columns of a row; several may be present.
struct PromptColumns {
  std::optional<ColumnChat> messages;  // column messages or conversations
  std::optional<ColumnChat> prompt;    // column prompt that holds a list
  std::optional<ColumnText> question;  // text of the user's message
  std::optional<ColumnText> text;      // column prompt that holds a string: raw text without a chat template

  bool is_empty() const { return !messages && !prompt && !question && !text; }
  /// Returns the names of the columns that are present, such as "messages and prompt".
  std::string list_names() const;
  /// Returns the prompt as messages, from the first column present in the order above. A raw text becomes a user
  /// message if `is_chat` (the row is a chat); otherwise returns nullopt. Must not be called if is_empty().
  std::optional<Json> prompt_chat(bool is_chat) const;
  /// Throws UserError (with row.origin) if two columns hold different prompts. `is_answered`: another column has the
  /// response, so question and raw text must equal the last user message; otherwise any user message.
  void require_agreement(const Row& row, bool is_answered) const;
};

/// Reads the prompt columns that `columns` names. If it names none: messages or conversations, prompt as text or list,
/// and for pairs ROLL's column instruction. Missing and null columns stay unset. Throws UserError if a column has the
/// wrong type, or if messages and conversations differ.
PromptColumns find_prompt_columns(const Row& row, const RowColumns& columns, LearntRows kind);

/// Returns true if `message` is a user message with this text, apart from blanks around the texts.
bool is_question(const Json& message, const std::string& text);

/// Makes (does not throw) the error for a row without a prompt, which lists the row's columns and the nearest layout.
UserError no_prompt(const Row& row, const RowColumns& columns);

}  // namespace roll
