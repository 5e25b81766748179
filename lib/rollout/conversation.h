// A conversation with a model, turn by turn, as the prompts that its chat template makes of it.
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
  /// `tokenizer` must outlive it. `system`: the first message, if any.
  Conversation(const Tokenizer& tokenizer, ChatTemplate chat_template, const std::optional<std::string>& system);

  /// The prompt in which the user says `text`. Where the template leaves what was said before as it was, so are its
  /// tokens: the model goes on from those that it drew, not from others of the same text. What gets no answer() is
  /// forgotten with the next ask(). UserError: the template's, or text that is not UTF-8.
  const std::vector<int64_t>& ask(const std::string& text);
  /// The response to it.
  void answer(const Generation& response);
  /// Begins anew.
  void reset();

 private:
  const Tokenizer& tokenizer_;
  ChatTemplate template_;
  Json system_, messages_, asked_;  // lists of messages; asked_: with the last question
  std::string prompt_;              // of asked_
  std::vector<int64_t> prompt_ids_;
  std::string known_;  // of messages_, as far as known_ids_ hold it
  std::vector<int64_t> known_ids_;
};

}  // namespace roll
