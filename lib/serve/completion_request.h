// What clients of OpenAI's API ask for: bodies of POST /v1/chat/completions and /v1/completions.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "environment/tool_calls.h"
#include "rollout/settings.h"

namespace roll {

class ChatTemplate;
class Grammars;
class Tokenizer;

/// What requests are read against, and answers written with. All must outlive whoever has it.
struct ServedModel {
  std::string name;
  const Tokenizer& tokenizer;
  const ChatTemplate* chat_template = nullptr;  // null: only texts are completed
  int64_t vocab_size = 0;
  int64_t max_length = 0;  // prompt and response, in tokens
  ToolCallForm tool_call_form = ToolCallForm::kMarked;
  Grammars* grammars = nullptr;                                // of its tokens; null: no response can be held to a form
  std::string no_grammars = "only {\"type\": \"text\"} here";  // why
  bool scores_tokens = false;  // whoever answers can score tokens that nobody drew (token_scores.h)
};

enum class CompletionKind { kChat, kText };

struct CompletionRequest {
  CompletionKind kind = CompletionKind::kText;
  std::vector<std::vector<int64_t>> prompts;  // one of a chat
  std::vector<std::string> texts{};           // these as they were given; empty: as ids, or as messages
  Json messages{};                            // of a chat, else null
  Json variables = Json::object();            // what its template was given beside them, tools included
  int64_t num_choices = 1;                    // of each prompt
  SamplingSettings sampling;
  std::optional<uint64_t> seed;
  bool streams = false, with_usage = false;  // usage: in a chunk of its own at the end
  bool with_log_probs = false, with_token_ids = false;
  int64_t num_likeliest = 0;    // tokens of which the log-probs are given beside each one's own
  bool echoes = false;          // the prompt stands before the text that is answered
  bool has_tools = false;       // which may be called
  bool calls_one = false;       // of what the model calls, the first call is answered
  Json given = Json::object();  // the body's numbers and flags, as they are there
  size_t num_body_bytes = 0;    // that all of it came in

  /// Whether there are log-probs in the answer that the sampler does not keep.
  bool needs_scores() const { return num_likeliest > 0 || (echoes && with_log_probs); }
};

/// The request names a model that is not served.
struct UnknownModel : UserError {
  using UserError::UserError;
};

/// Fields of OpenAI's API, those of vLLM that say more of sampling (top_k, min_p, repetition_penalty, ...), and
/// return_token_ids. Fields that can change nothing here (user, store, ...) are passed over; those that would ask for
/// what is not done are refused. UserError "field = value: rule", UnknownModel.
CompletionRequest read_completion(CompletionKind kind, Json body, const ServedModel& model);

}  // namespace roll
