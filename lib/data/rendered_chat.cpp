#include "data/rendered_chat.h"

#include <algorithm>

#include "base/error.h"
#include "base/trim.h"
#include "data/chats.h"

namespace roll {

namespace {

using Span = std::pair<size_t, size_t>;

size_t common_bytes(std::string_view a, std::string_view b) {
  const size_t shorter = std::min(a.size(), b.size());
  return static_cast<size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(shorter), b.begin()).first - a.begin());
}

/// Returns the largest token boundary of `text` that is at most `length`.
size_t token_border(std::string_view text, size_t length, const SftEncoder& encoder) {
  const std::vector<int64_t> tokens = encoder.encode(text, false);
  const auto is_border = [&](size_t end) {
    if (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) return false;
    const std::vector<int64_t> prefix_tokens = encoder.encode(text.substr(0, end), false);
    return prefix_tokens.size() <= tokens.size() &&
           std::equal(prefix_tokens.begin(), prefix_tokens.end(), tokens.begin());
  };
  while (length > 0 && !is_border(length)) --length;
  return length;
}

/// Locates the turns of a conversation in order.
class TurnSearch {
 public:
  TurnSearch(const Json& messages, const ChatRenderer& render)
      : messages_(messages), render_(render), text_(render(messages, false)) {}

  Span find(size_t message, size_t from) {
    const size_t begin = find_begin(message, from);
    const size_t end = message + 1 == messages_.size() ? text_.size() : find_end(message, begin);
    if (begin < from || end <= begin) fail(message);
    return {begin, end};
  }
  RenderedChat result() && { return {.text = std::move(text_), .turns = {}, .is_rewritten = is_rewritten_}; }

 private:
  [[noreturn]] void fail(size_t message) const {
    throw user_error(
        "{}: messages[{}]: with this message, the chat template renders the turns before it differently, so the text "
        "to learn cannot be located; give one assistant message per row",
        render_.origin, message);
  }

  size_t find_begin(size_t message, size_t from) {
    if (message == 0)
      throw user_error("{}: messages[0]: is an assistant message; a prompt must come first", render_.origin);
    const Json earlier = slice_messages(messages_, 0, message);
    const std::string with_opening = render_(earlier, true);
    if (text_.starts_with(with_opening)) return with_opening.size();
    is_rewritten_ = true;
    const std::string without_opening = render_(earlier, false);
    const std::string opening = with_opening.substr(common_bytes(without_opening, with_opening));  // start of the turn
    if (text_.starts_with(without_opening) && with_opening.starts_with(without_opening))
      return without_opening.size() +
             token_border(opening, common_bytes(opening, std::string_view(text_).substr(without_opening.size())),
                          render_.encoder);
    for (size_t length = opening.size(); length > 0; length = token_border(opening, length - 1, render_.encoder))
      if (const size_t at = text_.find(std::string_view(opening).substr(0, length), from); at != std::string::npos)
        return at + length;
    fail(message);
  }

  size_t find_end(size_t message, size_t begin) {
    const std::string rendered = render_(slice_messages(messages_, 0, message + 1), false);
    if (text_.starts_with(rendered)) return rendered.size();
    const size_t common = token_border(rendered, common_bytes(rendered, text_), render_.encoder);
    if (common > begin && is_ending(std::string_view(rendered).substr(common))) return common;
    is_rewritten_ = true;
    size_t end = std::string::npos;
    for (const std::string& mark : render_.encoder.eos_texts)
      if (const size_t at = text_.find(mark, begin); at != std::string::npos) end = std::min(end, at + mark.size());
    if (end == std::string::npos) fail(message);
    return std::min(text_.find_first_not_of(" \t\r\n", end), text_.size());
  }

  /// Returns true if `rest` holds only end tokens and blanks.
  bool is_ending(std::string_view rest) const {
    for (const std::string& mark : render_.encoder.eos_texts)
      if (rest.starts_with(mark)) return is_ending(rest.substr(mark.size()));
    return trimmed_text(rest).empty();
  }

  const Json& messages_;
  const ChatRenderer& render_;
  std::string text_;
  bool is_rewritten_ = false;
};

}  // namespace

std::string ChatRenderer::operator()(const Json& messages, bool add_generation_prompt) const {
  return render_row(
      [&](const Json& row_variables) { return encoder.render(messages, add_generation_prompt, row_variables); },
      variables, origin);
}

size_t common_beginning(const std::string& prompt, const std::string& full_text, const SftEncoder& encoder) {
  const size_t length = common_bytes(prompt, full_text);
  return length == prompt.size() ? length : token_border(prompt, length, encoder);
}

RenderedChat find_turns(const Json& messages, const ChatRenderer& render) {
  const auto last = std::find_if(messages.rbegin(), messages.rend(), is_assistant).base() - messages.begin();
  const Json up_to_last_answer = slice_messages(messages, 0, static_cast<size_t>(last));
  TurnSearch search(up_to_last_answer, render);
  std::vector<Span> turns;
  for (size_t i = 0; i < up_to_last_answer.size(); ++i)
    if (is_assistant(up_to_last_answer[i])) turns.push_back(search.find(i, turns.empty() ? 0 : turns.back().second));
  RenderedChat chat = std::move(search).result();
  chat.turns = std::move(turns);
  return chat;
}

std::vector<int64_t> encode_to_end(std::span<const int64_t> before, const std::string& text, const std::string& origin,
                                   const SftEncoder& encoder) {
  if (encoder.eos_ids.empty())
    throw user_error("{}: the tokenizer has no end token, which a raw response needs; set eos_token", origin);
  std::vector<int64_t> ids = before.empty() ? encoder.encode(text, true) : encoder.encode_next(before, text);
  if (ids.empty() || ids.back() != encoder.eos_ids.front()) ids.push_back(encoder.eos_ids.front());
  return ids;
}

}  // namespace roll
