// Reads requests of OpenAI's API, for CompletionServer: the bodies of POST /v1/chat/completions and /v1/completions.
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

/// The model that a server serves, for reading requests and writing answers. All referenced objects must outlive the
/// users of this one.
struct ServedModel {
  std::string name;
  const Tokenizer& tokenizer;
  const ChatTemplate* chat_template = nullptr;  // null: chat requests are refused
  int64_t vocab_size = 0;
  int64_t max_length = 0;                               // longest prompt and response together, in tokens
  ToolCallForm tool_call_form = ToolCallForm::kMarked;  // how the model writes tool calls
  Grammars* grammars = nullptr;                         // for response formats; null: they are refused
  /// End of the error message for a refused response format.
  std::string no_grammars = "only {\"type\": \"text\"} is supported here";
  bool scores_tokens = false;  // log-probs of prompts and of unsampled tokens may be requested (token_scores.h)
};

/// The API's endpoint: /chat/completions or /completions.
enum class CompletionKind { kChat, kText };

/// A checked request. Fields without a comment have the meaning of OpenAI's field with a similar name.
struct CompletionRequest {
  CompletionKind kind = CompletionKind::kText;
  std::vector<std::vector<int64_t>> prompts;  // token ids of each prompt; exactly one for a chat
  std::vector<std::string> texts{};           // the prompts as text; empty if they came as ids or messages
  Json messages{};                            // list of {role, content}; null unless kChat
  Json variables = Json::object();            // variables of the chat template, tools included
  int64_t num_choices = 1;                    // responses per prompt
  SamplingSettings sampling;
  std::optional<uint64_t> seed;
  bool streams = false;
  bool with_usage = false;      // ends a stream with a chunk of token counts
  bool with_log_probs = false;  // returns the log-prob of each token
  bool with_token_ids = false;  // returns token ids (vLLM's return_token_ids)
  int64_t num_likeliest = 0;    // number of likeliest tokens whose log-probs are returned at each position
  bool echoes = false;          // the text answer begins with the prompt
  bool has_tools = false;       // the model may call tools
  bool calls_one = false;       // only the first tool call of a response is returned
  Json given = Json::object();  // the body's number and flag fields, as sent; AgentSessions checks them
  size_t num_body_bytes = 0;    // size of the whole body; set by the server

  /// Returns true if the answer needs log-probs that the sampler does not keep.
  bool needs_scores() const { return num_likeliest > 0 || (echoes && with_log_probs); }
};

/// Error of a request that names a model that is not served.
struct UnknownModel : UserError {
  using UserError::UserError;
};

/// Reads a request body, and encodes its prompts. The body may have the fields of OpenAI's API, vLLM's sampling fields
/// (top_k, min_p, repetition_penalty, ...) and return_token_ids. Fields without effect here (user, store, ...) are
/// ignored. Throws UserError ("field = value: rule") if a field is invalid or asks for an unsupported feature,
/// UnknownModel if another model is named, and GrammarsBusy if too many grammars are in use (grammar/grammars.h).
CompletionRequest read_completion(CompletionKind kind, Json body, const ServedModel& model);

}  // namespace roll
