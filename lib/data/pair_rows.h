// Rows of preferences: a prompt, a response that was chosen and one that was rejected.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "data/row_forms.h"
#include "data/sft_rows.h"

namespace roll {

struct PairRow {
  std::string id, origin;
  std::vector<int64_t> prompt_ids{}, chosen_ids{}, rejected_ids{};  // at least one each; responses with their end token
  bool is_rewritten = false;  // the template renders the prompt differently with a response behind it

  static constexpr MessageKind kMessage{"PAIR", 2, "a row of a preference optimisation"};
  static constexpr LearntRows kLearnt = LearntRows::kPairs;
  static constexpr const char* kMany = "pairs";
  template <class F>
  void fields(F& field) {
    field("id", id), field("origin", origin), field("prompt_ids", prompt_ids);
    field("chosen_ids", chosen_ids), field("rejected_ids", rejected_ids);
    field("is_rewritten", is_rewritten);
  }
  int64_t longest() const {
    return static_cast<int64_t>(prompt_ids.size() + std::max(chosen_ids.size(), rejected_ids.size()));
  }
  uint64_t hash(uint64_t before) const {  // of the tokens
    return hash_ids(rejected_ids, hash_ids(chosen_ids, hash_ids(prompt_ids, before)));
  }
};

/// A pair of row_forms.h as tokens, as TRL has it: all that the template makes of a response is scored, what it writes
/// behind the end token, too. Prompt and response are tokenised apart. Fills row.messages or row.prompt with the
/// prompt. UserError (row.origin): pair_form()'s; no end token known for a raw response, a template that fails.
PairRow encode_pair_row(Row& row, const PairColumns& columns, const SftEncoder& encoder);

}  // namespace roll
