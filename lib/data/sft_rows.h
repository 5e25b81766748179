// Tokenizes rows for supervised fine-tuning, with a loss mask; used by train/sft_data.h and `roll tokenize`.
//
// Prompt and responses are tokenized separately and joined, as in sampling, so that the model sees the same token
// boundaries. Tokenizer and chat template are callbacks, because lib/data must not include lib/text.
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

/// Returns the FNV-1a hash of all earlier tokens followed by `ids`. `before`: hash of the earlier tokens.
inline uint64_t hash_ids(const std::vector<int64_t>& ids, uint64_t before) {
  return fnv1a({reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(int64_t)}, before);
}

/// A tokenized fine-tuning row.
struct SftRow {
  std::string id;              // Row::id
  std::string origin;          // "file:line", for messages
  std::vector<int64_t> ids{};  // tokens of prompt and responses
  /// One entry per token; labels_mask[t] = 1 if token t + 1 carries loss, else 0; the last entry is 0.
  std::vector<uint8_t> labels_mask{};
  bool is_rewritten = false;  // true: the chat template renders a turn differently when others follow

  static constexpr MessageKind kMessage{"SFTR", 2, "a row of a fine-tuning"};
  static constexpr LearntRows kLearnt = LearntRows::kResponses;
  static constexpr const char* kMany = "rows";  // name of several rows, for messages
  template <class F>
  void fields(F& field) {
    field("id", id), field("origin", origin), field("ids", ids), field("labels_mask", labels_mask);
    field("is_rewritten", is_rewritten);
  }
  /// Returns the number of tokens; named like PairRow::longest().
  int64_t longest() const { return std::ssize(ids); }
  /// Returns the hash of all earlier rows' tokens followed by this row's. `before`: hash of the earlier rows.
  uint64_t hash(uint64_t before) const { return hash_ids(ids, before); }
};

/// Tokenizer and chat template, as callbacks; all must be thread-safe.
struct SftEncoder {
  /// Renders a chat by the template. add_generation_prompt: adds the beginning of an assistant turn. `variables`:
  /// template_variables() of the row (chats.h).
  std::function<std::string(const Json& messages, bool add_generation_prompt, const Json& variables)> render;
  /// Returns the tokens of a text. add_special: adds the tokens that the tokenizer puts around a text, such as Llama's
  /// begin token.
  std::function<std::vector<int64_t>(std::string_view text, bool add_special)> encode;
  /// Returns the tokens of `text`, which continues the tokens `before` (Tokenizer::encode_behind()); unset: encode() is
  /// used.
  std::function<std::vector<int64_t>(std::span<const int64_t> before, std::string_view text)> encode_behind{};

  /// Returns the tokens of `text` alone, which continues the tokens `before`.
  std::vector<int64_t> encode_next(std::span<const int64_t> before, std::string_view text) const {
    return encode_behind ? encode_behind(before, text) : encode(text, false);
  }
  std::vector<int64_t> eos_ids;  // ids of end tokens; the first one ends a raw response; empty: the tokenizer has none
  std::vector<std::string> eos_texts;  // the end tokens as a template writes them
};

/// Tokenizes a row (sft_form() in row_forms.h). These tokens carry loss, by SftForm::learnt: in a completion,
/// everything that the template renders for it, like TRL; with kTurns, each assistant message from the generation
/// prompt to the next message; in raw text, the response and an added end token. Also sets row.messages or row.prompt
/// to the prompt.
///
/// The conversation is rendered once, as a whole. If the template renders a turn differently when others follow (Qwen3
/// drops earlier thoughts), the text in the whole conversation is used, and is_rewritten is set. Throws UserError (with
/// row.origin) if sft_form() does, the template fails, a turn cannot be located, or a raw response needs an end token
/// that the tokenizer does not have.
SftRow encode_sft_row(Row& row, const SftColumns& columns, const SftEncoder& encoder);

}  // namespace roll
