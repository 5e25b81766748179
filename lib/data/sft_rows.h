// Rows for supervised fine-tuning: a prompt with its response, or a conversation whose assistant turns are learnt.
//
// The prompt and each response are tokenised apart and joined, exactly as sampling joins them, so that the model learns
// the token borders that it will meet. The tokenizer and the chat template come in as callbacks:
// `text` is an equal layer.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "data/rows.h"

namespace roll {

inline uint64_t hash_ids(const std::vector<int64_t>& ids, uint64_t before) {
  return fnv1a({reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(int64_t)}, before);
}

struct SftRow {
  std::string id, origin;
  std::vector<int64_t> ids;
  std::vector<uint8_t> labels_mask;  // one per id: [t] is 1 when token t + 1 is to be learnt; the last is 0

  static constexpr MessageKind kMessage{"SFTR", 1, "a row of a fine-tuning"};
  static constexpr const char* kMany = "rows";
  template <class F>
  void fields(F& field) {
    field("id", id), field("origin", origin), field("ids", ids), field("labels_mask", labels_mask);
  }
  int64_t longest() const { return std::ssize(ids); }
  uint64_t hash(uint64_t before) const { return hash_ids(ids, before); }  // of the tokens
};

/// All three are called from several threads at once.
struct SftEncoder {
  /// A chat template: messages, add_generation_prompt.
  std::function<std::string(const Json& messages, bool add_generation_prompt)> render;
  /// A tokenizer; add_special adds what it puts around every text (Llama's begin token).
  std::function<std::vector<int64_t>(std::string_view text, bool add_special)> encode;
  std::vector<int64_t> eos_ids;  // the first one ends a raw response
};

/// A row is one of
///   prompt + response column           learnt: the response and the end token that is added to it
///   messages + response column         the response is one more assistant message
///   messages with assistant messages   learnt: every assistant message up to and including its end token
/// `response` names the column; unnamed, it is "response" where the row has one.
/// UserError (row.origin): no response and no assistant message, an empty response, no end token known for a raw
/// response, a template that renders earlier turns differently once later ones are there.
SftRow encode_sft_row(const Row& row, const std::optional<std::string>& response, const SftEncoder& encoder);

}  // namespace roll
