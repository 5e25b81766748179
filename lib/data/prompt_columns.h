// Columns of a row to learn from that say what was asked.
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

struct AskedColumns {
  std::optional<ColumnChat> messages;  // of messages or conversations
  std::optional<ColumnChat> prompt;    // a list in the column prompt
  std::optional<ColumnText> question;  // a message of the user's
  std::optional<ColumnText> text;      // a raw prompt

  bool is_empty() const { return !messages && !prompt && !question && !text; }
  std::string names() const;  // "messages and prompt"
  /// The prompt as messages; nothing where it is raw, unless `is_chat`: then that is the user's message.
  std::optional<Json> prompt_chat(bool is_chat) const;
  /// UserError (row.origin): two of them ask differently. `is_answered`: what follows is in another column, so that a
  /// text must be the last that the user says.
  void require_agreement(const Row& row, bool is_answered) const;
};

/// The columns that `columns` name; without names messages, conversations, and prompt as a text or a list, of pairs
/// ROLL's instruction, too. UserError: one of another type.
AskedColumns find_asked(const Row& row, const RowColumns& columns, LearntRows kind);

/// True where the user asks `text` in that message, but for blanks around it.
bool is_question(const Json& message, const std::string& text);

UserError no_prompt(const Row& row, const RowColumns& columns);

}  // namespace roll
