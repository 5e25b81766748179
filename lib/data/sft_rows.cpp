#include "data/sft_rows.h"

#include <algorithm>

#include "base/error.h"
#include "data/chats.h"
#include "data/rendered_chat.h"
#include "data/row_forms.h"

namespace roll {

namespace {

/// Appends tokens; `learnt`: they carry loss.
void append(SftRow& row, const std::vector<int64_t>& ids, bool learnt) {
  for (const int64_t id : ids) {
    if (!row.ids.empty()) row.labels_mask.back() = learnt;
    row.ids.push_back(id);
    row.labels_mask.push_back(0);
  }
}

void append_raw(SftRow& out, const SftForm& form, const SftEncoder& encoder) {
  const bool has_prompt = form.learnt != Learnt::kAll;
  if (has_prompt) append(out, encoder.encode(form.prompt_text, true), false);
  append(out, encode_to_end(out.ids, form.completion_text, out.origin, encoder), true);
}

void append_completion(SftRow& out, const SftForm& form, const SftEncoder& encoder) {
  const ChatRenderer render{encoder, form.variables, out.origin};
  const std::string prompt_text = render(form.prompt, true),
                    full_text = render(join_messages(form.prompt, form.completion), false);
  const size_t begin = common_beginning(prompt_text, full_text, encoder);
  out.is_rewritten = begin < prompt_text.size();
  append(out, encoder.encode(std::string_view(full_text).substr(0, begin), false), false);
  append(out, encoder.encode_next(out.ids, std::string_view(full_text).substr(begin)), true);
}

void append_turns(SftRow& out, const SftForm& form, const SftEncoder& encoder) {
  const RenderedChat chat = find_turns(form.prompt, {encoder, form.variables, out.origin});
  out.is_rewritten = chat.is_rewritten;
  const std::string_view text = chat.text;
  size_t position = 0;
  for (const auto& [begin, end] : chat.turns) {
    append(out, encoder.encode_next(out.ids, text.substr(position, begin - position)), false);
    append(out, encoder.encode_next(out.ids, text.substr(begin, end - begin)), true);
    position = end;
  }
}

}  // namespace

SftRow encode_sft_row(Row& row, const SftColumns& columns, const SftEncoder& encoder) {
  SftRow out{.id = row.id, .origin = row.origin};
  const SftForm form = sft_form(row, columns);
  if (form.is_chat())
    row.messages = form.prompt;
  else
    row.prompt = form.learnt == Learnt::kAll ? form.completion_text : form.prompt_text;
  if (!form.is_chat())
    append_raw(out, form, encoder);
  else if (form.learnt == Learnt::kTurns)
    append_turns(out, form, encoder);
  else
    append_completion(out, form, encoder);
  return out;
}

}  // namespace roll
