// Rows for supervised fine-tuning: a prompt with its response, or a conversation whose assistant turns are learnt.
//
// The prompt and each response are tokenised apart and joined, exactly as sampling joins them, so that the model learns
// the token borders that it will meet. The tokenizer and the chat template come in as callbacks:
// `text` is an equal layer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/rows.h"
#include "data/tokenise.h"

namespace roll {

struct SftRow {
  std::string id, origin;
  std::vector<int64_t> ids;
  std::vector<uint8_t> labels_mask;  // one per id: [t] is 1 when token t + 1 is to be learnt; the last is 0
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

/// encode_sft_row of all rows; those above max_length tokens are dropped and counted. UserError when none is left.
std::vector<SftRow> encode_sft_rows(const std::vector<Row>& rows, const std::optional<std::string>& response,
                                    const SftEncoder& encoder, int64_t max_length, int64_t num_threads,
                                    DroppedRows& dropped);

}  // namespace roll
