// Rows of preferences: a prompt, a response that was chosen and one that was rejected.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "data/sft_rows.h"

namespace roll {

struct PairRow {
  std::string id, origin;
  std::vector<int64_t> prompt_ids, chosen_ids, rejected_ids;  // at least one each; responses with their end token

  static constexpr MessageKind kMessage{"PAIR", 1, "a row of a preference optimisation"};
  static constexpr const char* kMany = "pairs";
  template <class F>
  void fields(F& field) {
    field("id", id), field("origin", origin), field("prompt_ids", prompt_ids);
    field("chosen_ids", chosen_ids), field("rejected_ids", rejected_ids);
  }
  int64_t longest() const {
    return static_cast<int64_t>(prompt_ids.size() + std::max(chosen_ids.size(), rejected_ids.size()));
  }
  uint64_t hash(uint64_t before) const {  // of the tokens
    return hash_ids(rejected_ids, hash_ids(chosen_ids, hash_ids(prompt_ids, before)));
  }
};

/// Both responses are tokenised as encode_sft_row() does it. A response column is a text, or a list of messages whose
/// last one is the assistant's and is taken. Only the response is scored: earlier turns of the assistant are prompt.
/// UserError (row.origin): a column that is missing, empty or of another type, and those of encode_sft_row().
PairRow encode_pair_row(const Row& row, const std::string& chosen, const std::string& rejected,
                        const SftEncoder& encoder);

}  // namespace roll
