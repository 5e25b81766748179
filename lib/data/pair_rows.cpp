#include "data/pair_rows.h"

#include "base/error.h"
#include "data/chats.h"
#include "data/rendered_chat.h"

namespace roll {

namespace {

void encode_raw_pair(PairRow& pair, const PairForm& form, const SftEncoder& encoder) {
  const auto text = [](const Json& value) { return value.get<std::string>(); };
  pair.prompt_ids = encoder.encode(text(form.prompt), true);
  pair.chosen_ids = encode_to_end(pair.prompt_ids, text(form.chosen), pair.origin, encoder);
  pair.rejected_ids = encode_to_end(pair.prompt_ids, text(form.rejected), pair.origin, encoder);
}

void encode_chat_pair(PairRow& pair, const PairForm& form, const SftEncoder& encoder) {
  const ChatRenderer render{encoder, form.variables, pair.origin};
  const std::string prompt_text = render(form.prompt, true);
  const std::string chosen_text = render(join_messages(form.prompt, form.chosen), false);
  const std::string rejected_text = render(join_messages(form.prompt, form.rejected), false);
  const size_t begin = std::min(common_beginning(prompt_text, chosen_text, encoder),
                                common_beginning(prompt_text, rejected_text, encoder));
  pair.is_rewritten = begin < prompt_text.size();
  pair.prompt_ids = encoder.encode(std::string_view(prompt_text).substr(0, begin), false);
  pair.chosen_ids = encoder.encode_next(pair.prompt_ids, std::string_view(chosen_text).substr(begin));
  pair.rejected_ids = encoder.encode_next(pair.prompt_ids, std::string_view(rejected_text).substr(begin));
}

}  // namespace

PairRow encode_pair_row(Row& row, const PairColumns& columns, const SftEncoder& encoder) {
  PairRow pair{.id = row.id, .origin = row.origin};
  const PairForm form = pair_form(row, columns);
  if (form.is_chat()) {
    row.messages = form.prompt;
    encode_chat_pair(pair, form, encoder);
  } else {
    row.prompt = form.prompt.get<std::string>();
    encode_raw_pair(pair, form, encoder);
  }
  if (pair.prompt_ids.empty() || pair.chosen_ids.empty() || pair.rejected_ids.empty())
    throw user_error("{}: the prompt or a response has no tokens", row.origin);
  return pair;
}

}  // namespace roll
