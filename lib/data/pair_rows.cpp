#include "data/pair_rows.h"

#include "base/error.h"

namespace roll {

namespace {

std::string text_of(const Row& row, const std::string& column) {
  if (!row.raw.contains(column) || row.raw[column].is_null())
    throw user_error("{}: the row has no column '{}' for a response", row.origin, column);
  Json value = row.raw[column];
  if (value.is_array()) {
    const Json messages = parse_messages(value, row.origin, column);
    if (messages.back()["role"] != "assistant")
      throw user_error("{}: {}: its last message is of '{}'; the response must be the assistant's", row.origin, column,
                       messages.back()["role"].get<std::string>());
    value = messages.back()["content"];
  }
  if (!value.is_string())
    throw user_error("{}: {} = {}: must be a text or a list of messages, not {}", row.origin, column,
                     to_line(value).substr(0, 60), value.type_name());
  return value.get<std::string>();
}

SftRow with_response(const Row& row, const std::string& column, const SftEncoder& encoder) {
  Row whole = row;
  whole.raw[column] = text_of(row, column);
  return encode_sft_row(whole, column, encoder);
}

/// Where the last response begins: its tokens are the last that are learnt, and nothing follows them.
int64_t prompt_length(const SftRow& row) {
  auto begin = std::ssize(row.ids) - 1;
  while (begin > 0 && row.labels_mask[begin - 1]) --begin;
  return begin + 1;
}

}  // namespace

PairRow encode_pair_row(const Row& row, const std::string& chosen, const std::string& rejected,
                        const SftEncoder& encoder) {
  const SftRow better = with_response(row, chosen, encoder), worse = with_response(row, rejected, encoder);
  const int64_t length = prompt_length(better);
  ROLL_CHECK_EQ(length, prompt_length(worse), "both responses follow one prompt");
  PairRow pair{.id = better.id, .origin = better.origin};
  pair.prompt_ids.assign(better.ids.begin(), better.ids.begin() + length);
  pair.chosen_ids.assign(better.ids.begin() + length, better.ids.end());
  pair.rejected_ids.assign(worse.ids.begin() + length, worse.ids.end());
  return pair;
}

}  // namespace roll
