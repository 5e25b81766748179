// Preference rows: a prompt, a chosen and a rejected response.
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
  std::string id, origin;
  std::vector<int64_t> prompt_ids{}, chosen_ids{}, rejected_ids{};  // not empty; responses end with the end token
  bool is_rewritten = false;  // with a response, the template renders the prompt differently

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
  uint64_t hash(uint64_t before) const {  // over the tokens
    return hash_ids(rejected_ids, hash_ids(chosen_ids, hash_ids(prompt_ids, before)));
  }
};

/// Tokenizes a preference pair (row_forms.h) like TRL: everything that the template renders for a response is scored,
/// including text after the end token. Prompt and response are tokenized separately. Sets row.messages or row.prompt to
/// the prompt. UserError (row.origin): as pair_form(); no end token for a raw response; the template fails.
PairRow encode_pair_row(Row& row, const PairColumns& columns, const SftEncoder& encoder);

}  // namespace roll
