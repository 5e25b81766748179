// Rows for supervised fine-tuning as tokens, and which of them are learnt.
//
// The prompt and each response are tokenised apart and joined, exactly as sampling joins them, so that the model learns
// the token borders that it will meet. The tokenizer and the chat template come in as callbacks:
// `text` is an equal layer.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "data/learnt_rows.h"
#include "data/row_forms.h"

namespace roll {

inline uint64_t hash_ids(const std::vector<int64_t>& ids, uint64_t before) {
  return fnv1a({reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(int64_t)}, before);
}

struct SftRow {
  std::string id, origin;
  std::vector<int64_t> ids{};
  std::vector<uint8_t> labels_mask{};  // one per id: [t] is 1 when token t + 1 is to be learnt; the last is 0
  bool is_rewritten = false;           // the template renders a turn differently on its own

  static constexpr MessageKind kMessage{"SFTR", 2, "a row of a fine-tuning"};
  static constexpr LearntRows kLearnt = LearntRows::kResponses;
  static constexpr const char* kMany = "rows";
  template <class F>
  void fields(F& field) {
    field("id", id), field("origin", origin), field("ids", ids), field("labels_mask", labels_mask);
    field("is_rewritten", is_rewritten);
  }
  int64_t longest() const { return std::ssize(ids); }
  uint64_t hash(uint64_t before) const { return hash_ids(ids, before); }  // of the tokens
};

/// All functions are called from several threads at once.
struct SftEncoder {
  /// A chat template: messages, add_generation_prompt, more variables (an object).
  std::function<std::string(const Json& messages, bool add_generation_prompt, const Json& variables)> render;
  /// A tokenizer; add_special adds what it puts around every text (Llama's begin token).
  std::function<std::vector<int64_t>(std::string_view text, bool add_special)> encode;
  /// Of a text that goes on behind these ids (Tokenizer::encode_behind); empty: as encode does it.
  std::function<std::vector<int64_t>(std::span<const int64_t> before, std::string_view text)> encode_behind{};
  std::vector<int64_t> behind(std::span<const int64_t> before, std::string_view text) const {
    return encode_behind ? encode_behind(before, text) : encode(text, false);
  }
  std::vector<int64_t> eos_ids;        // the first one ends a raw response
  std::vector<std::string> eos_texts;  // the same as templates write them
};

/// A form of row_forms.h as tokens. Learnt are: of a completion all that the template makes of it, as TRL has it; of
/// turns, all that the template writes from its generation prompt to the next message; of raw text, the text and the
/// end token that is added to it. Fills row.messages or row.prompt with what was asked.
///
/// The whole conversation is rendered once. Where a template renders a turn differently on its own (Qwen3 drops earlier
/// thoughts), the turn is learnt as it is there, and is_rewritten says so.
/// UserError (row.origin): sft_form()'s; no end token known for a raw response, a template that fails, turns that are
/// not found again.
SftRow encode_sft_row(Row& row, const SftColumns& columns, const SftEncoder& encoder);

}  // namespace roll
