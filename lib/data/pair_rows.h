// Tokenizes preference rows (a prompt, a chosen and a rejected response) for `roll dpo`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "data/row_forms.h"
#include "data/sft_rows.h"

namespace roll {

/// A tokenized preference pair.
struct PairRow {
  std::string id;                                     // Row::id
  std::string origin;                                 // "file:line", for messages
  std::vector<int64_t> prompt_ids{};                  // not empty
  std::vector<int64_t> chosen_ids{}, rejected_ids{};  // responses, not empty; a raw text ends with an end token
  bool is_rewritten = false;  // the chat template renders the prompt differently when a response follows

  static constexpr MessageKind kMessage{"PAIR", 2, "a row of a preference optimisation"};
  static constexpr LearntRows kLearnt = LearntRows::kPairs;  // kind of rows in the data files
  static constexpr const char* kMany = "pairs";              // word for several, in messages
  template <class F>
  void fields(F& field) {
    field("id", id), field("origin", origin), field("prompt_ids", prompt_ids);
    field("chosen_ids", chosen_ids), field("rejected_ids", rejected_ids);
    field("is_rewritten", is_rewritten);
  }
  /// Returns the tokens of the longer sequence of prompt and response.
  int64_t longest() const {
    return static_cast<int64_t>(prompt_ids.size() + std::max(chosen_ids.size(), rejected_ids.size()));
  }
  /// Returns the hash `before`, of earlier rows, continued by this row's tokens.
  uint64_t hash(uint64_t before) const {
    return hash_ids(rejected_ids, hash_ids(chosen_ids, hash_ids(prompt_ids, before)));
  }
};

/// Tokenizes a preference row (pair_form() in row_forms.h) like TRL: everything that the template renders for a
/// response counts as response, including text after the end token. Prompt and responses are tokenized separately. Also
/// sets row.messages (chat) or row.prompt (raw text) to the prompt. Throws UserError (with row.origin) if pair_form()
/// does, the template fails, or the prompt or a response has no tokens. Also throws it for a raw response if the
/// tokenizer has no end token.
PairRow encode_pair_row(Row& row, const PairColumns& columns, const SftEncoder& encoder);

}  // namespace roll
