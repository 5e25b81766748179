// Parses the HTTP answer of an OpenAI-compatible server to POST /chat/completions, for the judge in api_judge.cpp. A
// pure function of status and body, so that tests and the fuzzer can call it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "reward/reward.h"

namespace roll {

/// The parsed answer.
struct ChatAnswer {
  std::string text{};                      // the model's answer; "" if `failure` is set
  bool is_cut = false;                     // the model was stopped at its token limit
  std::optional<int64_t> num_tokens{};     // tokens of prompt and answer; nullopt: the server does not say
  std::optional<RewardFailure> failure{};  // kUnparsable, kUnavailable or kUnjudged if there is no usable answer
  std::string reason{};                    // reason of the failure; may repeat parts of the request, such as the key
  bool is_refused = false;                 // the server rejects address, API key or model, so no question can succeed
};

/// Parses HTTP status and body; never throws. Sets `failure` to
///   kUnparsable   for status 200 with a body that is not a chat completion, or a message without content (the model
///                 only reasoned)
///   kUnjudged     for status 400, 413 or 422, or if the model or a content filter refuses the question
///   kUnavailable  for all other statuses and errors
ChatAnswer parse_chat_answer(int status, std::string_view body);

}  // namespace roll
