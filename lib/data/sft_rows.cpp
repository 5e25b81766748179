#include "data/sft_rows.h"

#include <algorithm>

#include "base/error.h"

namespace roll {

namespace {

/// Appends tokens; `learnt` says whether the model is to predict them.
void append(SftRow& row, const std::vector<int64_t>& ids, bool learnt) {
  for (const int64_t id : ids) {
    if (!row.ids.empty()) row.labels_mask.back() = learnt;
    row.ids.push_back(id);
    row.labels_mask.push_back(0);
  }
}

/// The response column's text; empty when the row has none (and none was asked for by name).
std::optional<std::string> response_of(const Row& row, const std::optional<std::string>& name) {
  const std::string column = name.value_or("response");
  if (!row.raw.contains(column) || row.raw[column].is_null()) {
    if (name) throw user_error("{}: the row has no column '{}' for its response", row.origin, column);
    return std::nullopt;
  }
  if (!row.raw[column].is_string())
    throw user_error("{}: {} = {}: must be a string, not {}", row.origin, column,
                     to_line(row.raw[column]).substr(0, 60), row.raw[column].type_name());
  auto text = row.raw[column].get<std::string>();
  if (text.empty()) throw user_error("{}: {}: is empty; a response to learn needs text", row.origin, column);
  return text;
}

bool is_assistant(const Json& message) {
  return message["role"] == "assistant";
}

void encode_raw(SftRow& out, const Row& row, const std::string& response, const SftEncoder& encoder) {
  if (encoder.eos_ids.empty())
    throw user_error("{}: the tokenizer names no end token, so a raw response could not be ended; set eos_token",
                     row.origin);
  append(out, encoder.encode(row.prompt, true), false);
  append(out, encoder.encode(response, false), true);
  if (out.ids.back() != encoder.eos_ids.front()) append(out, {encoder.eos_ids.front()}, true);
}

/// An assistant turn: learnt up to its last end token; what the template writes after that (a newline) is not the
/// model's to say.
void append_turn(SftRow& out, const std::vector<int64_t>& ids, const std::vector<int64_t>& eos_ids, bool is_last) {
  const auto is_end = [&](int64_t id) { return std::ranges::find(eos_ids, id) != eos_ids.end(); };
  const auto last_end = std::find_if(ids.rbegin(), ids.rend(), is_end);
  const auto learnt_end = last_end == ids.rend() ? ids.end() : last_end.base();
  append(out, {ids.begin(), learnt_end}, true);
  if (!is_last) append(out, {learnt_end, ids.end()}, false);
}

/// The part of `text` after `known`.
std::string continuation(const std::string& known, const std::string& text, const Row& row, size_t message) {
  if (!text.starts_with(known)) {
    throw user_error(
        "{}: messages[{}]: the chat template renders the turns before it differently once it is there, so what to "
        "learn is "
        "not clear; give one assistant message per row",
        row.origin, message);
  }
  return text.substr(known.size());
}

void encode_chat(SftRow& out, const Row& row, const Json& messages, const SftEncoder& encoder) {
  std::string known;
  Json so_far = Json::array();
  const auto last =
      static_cast<size_t>(std::find_if(messages.rbegin(), messages.rend(), is_assistant).base() - messages.begin()) - 1;
  for (size_t i = 0; i <= last; ++i) {
    if (is_assistant(messages[i])) {
      const std::string prompt = encoder.render(so_far, true);
      append(out, encoder.encode(continuation(known, prompt, row, i), false), false);
      so_far.push_back(messages[i]);
      const std::string through = encoder.render(so_far, false);
      append_turn(out, encoder.encode(continuation(prompt, through, row, i), false), encoder.eos_ids, i == last);
      known = through;
    } else {
      so_far.push_back(messages[i]);
    }
  }
}

}  // namespace

SftRow encode_sft_row(const Row& row, const std::optional<std::string>& response, const SftEncoder& encoder) {
  SftRow out;
  out.id = row.id;
  out.origin = row.origin;
  const auto text = response_of(row, response);
  if (!row.messages) {
    if (!text) throw user_error("{}: the row has no column 'response'", row.origin);
    encode_raw(out, row, *text, encoder);
    return out;
  }
  Json messages = *row.messages;
  if (text) messages.push_back({{"role", "assistant"}, {"content", *text}});
  if (std::none_of(messages.begin(), messages.end(), is_assistant))
    throw user_error("{}: messages hold no assistant message and there is no column 'response'; nothing to learn",
                     row.origin);
  encode_chat(out, row, messages, encoder);
  return out;
}

}  // namespace roll
