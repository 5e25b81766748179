// A multi-turn chat between a user and the model: renders all turns so far to the prompt of the model's next turn.
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
  /// `system`: text of the system message; unset: none. `tokenizer` must outlive the object.
  Conversation(const Tokenizer& tokenizer, ChatTemplate chat_template, const std::optional<std::string>& system);

  /// Appends the user's message `text` and returns the token ids of the whole prompt; the reference is valid until the
  /// next call. If the template renders the earlier turns as before, their tokens are those that the model drew; else
  /// all text is encoded again. If answer() was not called after the last ask(), first drops that ask()'s message.
  /// Throws UserError if the template fails or `text` is not UTF-8.
  const std::vector<int64_t>& ask(const std::string& text);
  /// Appends the model's response to the last ask(). Call it at most once after each ask().
  void answer(const Generation& response);
  /// Drops all turns; the system message stays.
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
