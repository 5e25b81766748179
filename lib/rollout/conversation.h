// A multi-turn chat, rendered by the chat template into one prompt per user turn.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "rollout/sampler.h"
#include "text/chat_template.h"

namespace roll {

class Tokenizer;

class Conversation {
 public:
  /// `tokenizer` must outlive the object. `system`: optional system message.
  Conversation(const Tokenizer& tokenizer, ChatTemplate chat_template, const std::optional<std::string>& system);

  /// Appends the user's message `text` and returns the prompt's token ids. If the rendered text still starts with the
  /// earlier turns, their tokens are kept as the model drew them, not encoded again. A question without answer() is
  /// dropped at the next ask(). UserError: the template fails, or `text` is not UTF-8.
  const std::vector<int64_t>& ask(const std::string& text);
  /// Appends the response to the last ask().
  void answer(const Generation& response);
  /// Drops all turns but the system message.
  void reset();

 private:
  const Tokenizer& tokenizer_;
  ChatTemplate template_;
  Json system_, messages_, pending_messages_;  // message lists; pending_messages_ = messages_ + the last question
  std::string prompt_;                         // pending_messages_ as rendered text
  std::vector<int64_t> prompt_ids_;
  std::string known_text_;  // rendered text whose tokens are known_ids_
  std::vector<int64_t> known_ids_;
};

}  // namespace roll
