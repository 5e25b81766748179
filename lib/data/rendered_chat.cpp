#include "data/rendered_chat.h"

#include <algorithm>

#include "base/error.h"
#include "data/chats.h"
#include "data/spoken_turns.h"

namespace roll {

namespace {

size_t common_bytes(std::string_view a, std::string_view b) {
  const size_t shorter = std::min(a.size(), b.size());
  return static_cast<size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(shorter), b.begin()).first - a.begin());
}

/// The largest length of `text`, but no more than `length`, behind which one of its tokens ends.
size_t token_border(std::string_view text, size_t length, const SftEncoder& encoder) {
  const std::vector<int64_t> all = encoder.encode(text, false);
  const auto is_border = [&](size_t end) {
    if (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) return false;
    const std::vector<int64_t> some = encoder.encode(text.substr(0, end), false);
    return some.size() <= all.size() && std::equal(some.begin(), some.end(), all.begin());
  };
  while (length > 0 && !is_border(length)) --length;
  return length;
}

/// The turns of a conversation in which each message stands as the template renders it before later ones are there.
std::optional<std::vector<Span>> turns_in_order(const std::string& text, const Json& messages,
                                                const ChatRenderer& render) {
  std::vector<Span> turns;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (!is_assistant(messages[i])) continue;
    const std::string asked = render(some_messages(messages, 0, i), true);
    const bool is_last = i + 1 == messages.size();
    const std::string through = is_last ? text : render(some_messages(messages, 0, i + 1), false);
    if (!text.starts_with(asked) || !text.starts_with(through) || through.size() <= asked.size()) return std::nullopt;
    turns.push_back({asked.size(), through.size()});
  }
  return turns;
}

/// Where the model speaks behind the messages `before` its last; empty: the generation prompt does not open that.
std::optional<size_t> last_begin(const jinja::Rendering& whole, const Json& before, const ChatRenderer& render) {
  const std::string asked = render(before, true), alone = render(before, false);
  if (whole.text.starts_with(asked)) return asked.size();
  if (!whole.rounds.back()) return std::nullopt;
  const size_t begin = whole.rounds.back()->begin;
  const size_t length =
      common_beginning(asked.substr(common_bytes(alone, asked)), whole.text.substr(begin), render.encoder);
  return length > 0 ? std::optional(begin + length) : std::nullopt;
}

}  // namespace

std::string ChatRenderer::operator()(const Json& messages, bool add_generation_prompt) const {
  return render_row([&](const Json& all) { return encoder.render(messages, add_generation_prompt, all); }, variables,
                    origin);
}

jinja::Rendering ChatRenderer::whole(const Json& messages) const try {
  return encoder.render_whole(messages, variables);
} catch (const UserError& e) {
  throw user_error("{}: {}", origin, e.what());
}

size_t common_beginning(const std::string& asked, const std::string& whole, const SftEncoder& encoder) {
  const size_t length = common_bytes(asked, whole);
  return length == asked.size() ? length : token_border(asked, length, encoder);
}

RenderedChat find_turns(const Json& messages, const ChatRenderer& render) {
  const auto last = std::find_if(messages.rbegin(), messages.rend(), is_assistant).base() - messages.begin();
  const Json through = some_messages(messages, 0, static_cast<size_t>(last));
  if (is_assistant(through.front()))
    throw user_error("{}: messages[0]: is the assistant's; a prompt comes first", render.origin);
  const jinja::Rendering whole = render.whole(through);
  if (auto turns = turns_in_order(whole.text, through, render)) return {whole.text, *std::move(turns)};
  const auto begin = last_begin(whole, some_messages(through, 0, through.size() - 1), render);
  auto turns = begin ? spoken_turns(whole, through, *begin) : std::nullopt;
  if (!turns)
    throw user_error(
        "{}: what to learn is not clear: the chat template renders turns differently once later ones are there, and in "
        "the whole conversation not each message by itself behind its header; give one assistant message per row",
        render.origin);
  return {whole.text, *std::move(turns), /*is_rewritten=*/true};
}

std::vector<int64_t> encode_to_end(const std::string& text, bool add_special, const std::string& origin,
                                   const SftEncoder& encoder) {
  if (encoder.eos_ids.empty())
    throw user_error("{}: the tokenizer names no end token, so a raw response could not be ended; set eos_token",
                     origin);
  std::vector<int64_t> ids = encoder.encode(text, add_special);
  if (ids.empty() || ids.back() != encoder.eos_ids.front()) ids.push_back(encoder.eos_ids.front());
  return ids;
}

}  // namespace roll
