// Locates the turns of a conversation in the text that its chat template renders.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "data/sft_rows.h"

namespace roll {

/// Renders with a row's template variables. UserError: as render_row().
struct ChatRenderer {
  const SftEncoder& encoder;
  const Json& variables;
  const std::string& origin;
  std::string operator()(const Json& messages, bool add_generation_prompt) const;
};

/// Returns the length in bytes of the common prefix, cut to a token boundary of `prompt`; all of `prompt` if `whole`
/// continues it.
size_t common_beginning(const std::string& prompt, const std::string& whole, const SftEncoder& encoder);

/// A rendered conversation and its assistant turns.
struct RenderedChat {
  std::string text;
  std::vector<std::pair<size_t, size_t>> turns;  // [begin, end) of each assistant turn, after the generation prompt
  bool is_rewritten = false;
};

/// Renders the conversation up to its last assistant turn. UserError: a turn cannot be located.
RenderedChat find_turns(const Json& messages, const ChatRenderer& render);

/// Tokenizes raw text that continues `before` (or starts a text, if empty) and appends the end token. UserError: the
/// tokenizer has no end token.
std::vector<int64_t> encode_to_end(std::span<const int64_t> before, const std::string& text, const std::string& origin,
                                   const SftEncoder& encoder);

}  // namespace roll
