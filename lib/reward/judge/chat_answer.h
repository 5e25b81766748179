// Parses the answer of an OpenAI-compatible server to a judge's question. A pure function of status and body, for tests
// and the fuzzer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "reward/reward.h"

namespace roll {

struct ChatAnswer {
  std::string text{};                      // the model's answer, unless it failed
  bool is_cut = false;                     // truncated at the token limit
  std::optional<int64_t> num_tokens{};     // prompt and answer together
  std::optional<RewardFailure> failure{};  // unparsable | unavailable | unjudged
  std::string reason{};                    // reason of the failure; may repeat parts of the request
  bool is_refused = false;                 // the server rejects address, key or model, so any question
};

/// Parses status and body. Failures: unparsable, for a body that is no JSON or has another shape, or a message without
/// content (the model only reasoned); unjudged, for status 400, 413 or 422, a refusal by the model or a content filter;
/// unavailable, for all other statuses and errors.
ChatAnswer parse_chat_answer(int status, std::string_view body);

}  // namespace roll
