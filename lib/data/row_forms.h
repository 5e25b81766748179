// The form that a row of a fine-tuning or of a preference optimisation has, and what it holds: TRL's forms as TRL reads
// them, ROLL's, and our own.
//
// Goal: two columns that could both be the truth must agree; a row is never cut or read twice without a word.
// Non-goal: tokens (sft_rows.h, pair_rows.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "data/rows.h"

namespace roll {

struct SftColumns {
  RowColumns prompt{};
  std::optional<std::string> response{};  // not named: response or completion, where the row has one
};
struct PairColumns {
  RowColumns prompt{};
  std::string chosen = "chosen", rejected = "rejected";
};

/// The tokens of a row that are learnt.
enum class Learnt {
  kAll,         // a text as it is
  kCompletion,  // all that follows the prompt
  kTurns        // every turn of the assistant
};

struct SftForm {
  Learnt learnt = Learnt::kCompletion;
  Json prompt{}, completion{};  // messages; kTurns has all of them in `prompt`; null: the row is raw text
  std::string prompt_text{}, completion_text{};  // raw; kAll has all in `completion_text`
  Json variables = Json::object();               // chats.h
  bool is_chat() const { return prompt.is_array(); }
};

struct PairForm {
  Json prompt{}, chosen{}, rejected{};  // messages, or texts that are raw
  Json variables = Json::object();
  bool is_chat() const { return prompt.is_array(); }
};

/// The prompt has the system message and the template that the columns name (dress_messages(), dressed_text()); of
/// kTurns the template is around the user's last message. UserError (row.origin): columns that contradict each other,
/// or that are missing, empty or of another type; a text or template for which the row has no place.
SftForm sft_form(const Row& row, const SftColumns& columns);

/// A prompt within both responses is taken out of them; where no column holds it, their common beginning is it.
/// The prompt is then dressed, and errors are thrown, as above.
PairForm pair_form(const Row& row, const PairColumns& columns);

/// TRL's extract_prompt(): the characters that two texts begin with, without a blank before the first that
/// differs. In bytes; all but the last character where one of the two begins with the other.
size_t common_prompt(const std::string& chosen, const std::string& rejected);

}  // namespace roll
