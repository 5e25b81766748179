// Tokenizes rows for supervised fine-tuning, with a loss mask.
//
// Prompt and responses are tokenized separately and joined, as in sampling, so that the model sees the same token
// boundaries. Tokenizer and chat template are callbacks, because `text` is in the same layer.
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

/// A tokenized fine-tuning row.
struct SftRow {
  std::string id, origin;
  std::vector<int64_t> ids{};
  std::vector<uint8_t> labels_mask{};  // labels_mask[t] = 1: token t + 1 carries loss; the last is 0
  bool is_rewritten = false;           // rendered alone, a turn differs from the conversation

  static constexpr MessageKind kMessage{"SFTR", 2, "a row of a fine-tuning"};
  static constexpr LearntRows kLearnt = LearntRows::kResponses;
  static constexpr const char* kMany = "rows";
  template <class F>
  void fields(F& field) {
    field("id", id), field("origin", origin), field("ids", ids), field("labels_mask", labels_mask);
    field("is_rewritten", is_rewritten);
  }
  int64_t longest() const { return std::ssize(ids); }
  uint64_t hash(uint64_t before) const { return hash_ids(ids, before); }  // over the tokens
};

/// Callbacks; all must be thread-safe.
struct SftEncoder {
  /// Renders a chat template; `variables` is an object.
  std::function<std::string(const Json& messages, bool add_generation_prompt, const Json& variables)> render;
  /// Tokenizes; add_special adds the tokens around a text (Llama's begin token).
  std::function<std::vector<int64_t>(std::string_view text, bool add_special)> encode;
  /// Tokenizes a text that continues `before` (Tokenizer::encode_behind). If unset, uses encode().
  std::function<std::vector<int64_t>(std::span<const int64_t> before, std::string_view text)> encode_behind{};
  /// Tokenizes a text that continues `before`, by encode_behind or else encode().
  std::vector<int64_t> encode_next(std::span<const int64_t> before, std::string_view text) const {
    return encode_behind ? encode_behind(before, text) : encode(text, false);
  }
  std::vector<int64_t> eos_ids;        // the first one ends a raw response
  std::vector<std::string> eos_texts;  // eos_ids as text in templates
};

/// Tokenizes a form of row_forms.h. Tokens with loss: of a completion, everything that the template renders, like TRL;
/// of turns, the text from the generation prompt to the next message; of raw text, the text and an added end token.
/// Sets row.messages or row.prompt to the prompt.
///
/// The conversation is rendered once, as a whole. If a template renders a turn differently alone (Qwen3 drops earlier
/// thoughts), the text in the conversation is used, and is_rewritten is set. UserError (row.origin): as sft_form(); no
/// end token for a raw response; the template fails; a turn cannot be located.
SftRow encode_sft_row(Row& row, const SftColumns& columns, const SftEncoder& encoder);

}  // namespace roll
