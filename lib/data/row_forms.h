// Interprets fine-tuning and preference rows: divides each into prompt and responses, as messages or raw texts. It
// reads TRL's forms like TRL, and also ROLL's and roll's own. sft_rows.h and pair_rows.h then tokenize them.
//
// Goal: columns with the same content must agree; nothing is cut or used twice silently.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "data/rows.h"

namespace roll {

/// Configured columns of fine-tuning rows.
struct SftColumns {
  RowColumns prompt{};                    // prompt columns, and texts that are added to prompts
  std::optional<std::string> response{};  // unset: response, completion or Alpaca's output, if present
};
/// Configured columns of preference rows.
struct PairColumns {
  RowColumns prompt{};                                   // prompt columns, and texts that are added to prompts
  std::string chosen = "chosen", rejected = "rejected";  // columns of the better and the worse response
};

/// The part of a fine-tuning row whose tokens carry loss.
enum class Learnt {
  kAll,         // the whole text
  kCompletion,  // everything after the prompt
  kTurns        // every assistant message of a conversation
};

/// Content of a fine-tuning row, either as chat messages or as raw text.
struct SftForm {
  Learnt learnt = Learnt::kCompletion;
  Json prompt{}, completion{};                   // a chat: messages; kTurns: all messages are in `prompt`
  std::string prompt_text{}, completion_text{};  // not a chat: raw text; kAll: all text is in `completion_text`
  Json variables = Json::object();               // template_variables() of the row (chats.h)
  bool is_chat() const { return prompt.is_array(); }
};
/// Content of a preference row.
struct PairForm {
  Json prompt{}, chosen{}, rejected{};  // messages if is_chat(), else strings of raw text
  Json variables = Json::object();      // template_variables() of the row (chats.h)
  bool is_chat() const { return prompt.is_array(); }
};

/// Returns the content of a fine-tuning row (parse_learnt_row()), with the system message and prompt template of
/// `columns` added (dress_messages(), dressed_text()); in kTurns, the template applies to the last user message. Throws
/// UserError (with row.origin) if a column contradicts another, is missing, empty or mistyped, or if the row has no
/// place for the system message or template.
SftForm sft_form(const Row& row, const SftColumns& columns);

/// Returns the content of a preference row. A prompt with which both responses begin is removed from them; without a
/// prompt column, their common beginning is the prompt. System message, template and errors are as for sft_form().
PairForm pair_form(const Row& row, const PairColumns& columns);

/// Returns the bytes of the common beginning of two texts, like TRL's extract_prompt(): a blank before the first
/// difference does not count; if one text begins with the whole other, the last character of the latter does not count.
/// Never splits a UTF-8 character.
size_t common_prompt(const std::string& chosen, const std::string& rejected);

}  // namespace roll
