// The tokens between two turns of a model: what its chat template puts around an environment's answer. Nothing that was
// sampled becomes text and tokens again: what follows a turn is rendered behind a stand-in for it, which a template
// must leave as it is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace roll {

class TurnTokens {
 public:
  /// UserError: a template that changes what was said before, which names the first difference.
  TurnTokens(ChatTemplate chat_template, const Tokenizer& tokenizer);

  /// The tokens from the end of the model's turn to where it speaks again, with `answer` as the user's message between.
  /// `first`: the messages before the model's first turn; `answers`: the user's between the turns before this one;
  /// `last_id`: of the turn, which may be the token that the template ends it with. UserError as the constructor's.
  std::vector<int64_t> behind(const Json& first, const std::vector<std::string>& answers, const std::string& answer,
                              int64_t last_id) const;

 private:
  std::string text_behind(Json messages, const std::string& turn, const std::string& answer) const;

  ChatTemplate template_;
  const Tokenizer& tokenizer_;
};

}  // namespace roll
