// The parts of a conversation in what a chat template makes of it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "data/sft_rows.h"

namespace roll {

/// A template with a row's variables. UserError: see render_row().
struct ChatRenderer {
  const SftEncoder& encoder;
  const Json& variables;
  const std::string& origin;
  std::string operator()(const Json& messages, bool add_generation_prompt) const;
};

/// Bytes of the beginning that both have, up to a border of asked's tokens: all of `asked` where `whole` goes on
/// behind it.
size_t common_beginning(const std::string& asked, const std::string& whole, const SftEncoder& encoder);

struct RenderedChat {
  std::string text;
  std::vector<std::pair<size_t, size_t>> turns;  // of the assistant: [begin, end), behind the generation prompt
  bool is_rewritten = false;
};

/// The conversation through its last turn of the assistant's. UserError: a turn is not found.
RenderedChat find_turns(const Json& messages, const ChatRenderer& render);

/// Raw text behind these ids, or a whole one where there are none, with an end token behind it. UserError: none is
/// known.
std::vector<int64_t> encode_to_end(std::span<const int64_t> before, const std::string& text, const std::string& origin,
                                   const SftEncoder& encoder);

}  // namespace roll
