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
  /// template fails, or if `variables` has tools and the template renders the same text without them.
  std::string operator()(const Json& messages, bool add_generation_prompt) const;
};

/// Returns the number of leading bytes that `prompt` and `full_text` (prompt and response, rendered together) have in
/// common, lowered to a token boundary of `prompt`. It is prompt.size() if `full_text` begins with `prompt`.
size_t common_beginning(const std::string& prompt, const std::string& full_text, const SftEncoder& encoder);

/// A rendered conversation and its assistant turns.
struct RenderedChat {
  std::string text;
  /// Byte range [begin, end) of each assistant turn in `text`. A range begins after the generation prompt. It includes
  /// the turn's end marker and the white space behind that, where the template writes them.
  std::vector<std::pair<size_t, size_t>> turns;
  /// True if the template renders a turn alone differently than in the whole conversation (Qwen3 drops earlier
  /// thoughts). `text` and `turns` belong to the whole conversation in any case; callers only count and report such
  /// rows.
  bool is_rewritten = false;
};
/// Renders the conversation up to its last assistant message, which must exist, and locates all assistant messages.
/// Throws UserError if a turn cannot be located or the first message is the assistant's.
RenderedChat find_turns(const Json& messages, const ChatRenderer& render);

/// Returns the tokens of the raw text `text` alone. If they do not end with encoder.eos_ids.front(), that end token is
/// added. `before`: the tokens that `text` continues, such as those of a prompt. If it is empty, `text` is a whole
/// text, and the result has the tokens that the tokenizer puts around a text, such as a begin token. Throws UserError
/// "origin: ..." if the tokenizer has no end token.
std::vector<int64_t> encode_to_end(std::span<const int64_t> before, const std::string& text, const std::string& origin,
                                   const SftEncoder& encoder);

}  // namespace roll
