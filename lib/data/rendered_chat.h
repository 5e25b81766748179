// Locates the assistant turns of a conversation in the text that its chat template renders, for fine-tuning and
// preference rows (sft_rows.h, pair_rows.h).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "data/sft_rows.h"

namespace roll {

/// Renders messages of one row. All references must outlive this.
struct ChatRenderer {
  const SftEncoder& encoder;  // has the chat template
  const Json& variables;      // template_variables() of the row
  const std::string& origin;  // the row's "file:line", for errors

  /// Returns the text; `add_generation_prompt` adds the beginning of an assistant turn. Throws UserError if the
  /// template fails, or ignores the row's tools.
  std::string operator()(const Json& messages, bool add_generation_prompt) const;
};

/// Returns the number of leading bytes that `prompt` and `full_text` (prompt and response, rendered together) have in
/// common, lowered to a token boundary of `prompt`; prompt.size() if `full_text` begins with `prompt`.
size_t common_beginning(const std::string& prompt, const std::string& full_text, const SftEncoder& encoder);

/// A rendered conversation and its assistant turns.
struct RenderedChat {
  std::string text;
  /// Byte range [begin, end) of each assistant turn in `text`, without its generation prompt.
  std::vector<std::pair<size_t, size_t>> turns;
  bool is_rewritten = false;  // the template renders a turn differently when others follow
};
/// Renders the conversation up to its last assistant message, which must exist, and locates all assistant messages.
/// Throws UserError if a turn cannot be located or the first message is the assistant's.
RenderedChat find_turns(const Json& messages, const ChatRenderer& render);

/// Returns the tokens of `text`, a raw text that continues the tokens `before` (empty: it starts a text), and an end
/// token unless they end with it. Throws UserError "origin: ..." if the tokenizer has no end token.
std::vector<int64_t> encode_to_end(std::span<const int64_t> before, const std::string& text, const std::string& origin,
                                   const SftEncoder& encoder);

}  // namespace roll
