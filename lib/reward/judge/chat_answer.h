// Parses the answer of an OpenAI-compatible server. A function of status and body alone, so that tests and the fuzzer
// can feed it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "reward/reward.h"

namespace roll {

struct ChatAnswer {
  std::string text{};                      // of the model, where there is no failure
  bool is_cut = false;                     // it ended at its limit of tokens
  std::optional<int64_t> num_tokens{};     // of prompt and answer
  std::optional<RewardFailure> failure{};  // unparsable | unavailable | unjudged
  std::string reason{};                    // of the failure; may hold what the server was told
  bool is_refused = false;                 // address, key or model are not known there: no question will be answered
};

/// A body that is no JSON, or too short, or of another shape is unparsable; so is a message without content, as of a
/// model that has only reasoned. Statuses 400, 413 and 422, a refusal of the model and a content filter say that this
/// question cannot be judged. All other statuses and errors mean that the server is unavailable.
ChatAnswer parse_chat_answer(int status, std::string_view body);

}  // namespace roll
