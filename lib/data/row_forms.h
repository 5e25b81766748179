// Interprets fine-tuning and preference rows: TRL's forms (read like TRL), ROLL's and roll's own.
//
// Goal: columns with the same content must agree; nothing is cut or used twice silently. Non-goal: tokens (sft_rows.h,
// pair_rows.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "data/rows.h"

namespace roll {

/// Configured columns of fine-tuning rows.
struct SftColumns {
  RowColumns prompt{};
  std::optional<std::string> response{};  // unset: response or completion, if present
};
/// Configured columns of preference rows.
struct PairColumns {
  RowColumns prompt{};
  std::string chosen = "chosen", rejected = "rejected";
};

/// The tokens of a row that carry loss.
enum class Learnt {
  kAll,         // the whole text
  kCompletion,  // everything after the prompt
  kTurns        // every assistant turn
};

/// Content of a fine-tuning row.
struct SftForm {
  Learnt learnt = Learnt::kCompletion;
  Json prompt{}, completion{};                   // messages; kTurns: all in `prompt`; null: raw text
  std::string prompt_text{}, completion_text{};  // raw text; kAll: all in `completion_text`
  Json variables = Json::object();               // chats.h
  bool is_chat() const { return prompt.is_array(); }
};

/// Content of a preference row.
struct PairForm {
  Json prompt{}, chosen{}, rejected{};  // messages, or raw texts
  Json variables = Json::object();
  bool is_chat() const { return prompt.is_array(); }
};

/// Adds the system message and prompt template of `columns` (dress_messages(), dressed_text()); in kTurns, the template
/// applies to the last user message. UserError (row.origin): a column contradicts another, is missing, empty or
/// mistyped; a system message or template that the row has no place for.
SftForm sft_form(const Row& row, const SftColumns& columns);

/// A prompt contained in both responses is removed from them. Without a prompt column, the common beginning is the
/// prompt. Then adds system message and template, with errors as in sft_form().
PairForm pair_form(const Row& row, const PairColumns& columns);

/// TRL's extract_prompt(): returns the length in bytes of the common prefix, without a blank before the first
/// difference. If one text is a prefix of the other, its last character is excluded.
size_t common_prompt(const std::string& chosen, const std::string& rejected);

}  // namespace roll
