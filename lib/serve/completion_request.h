// Reads requests of OpenAI's API, for CompletionServer: bodies of POST /v1/chat/completions and /v1/completions.
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

/// The model that a server serves: used to read requests and to write answers. Everything in it must outlive its users.
struct ServedModel {
  std::string name;
  const Tokenizer& tokenizer;
  const ChatTemplate* chat_template = nullptr;  // null: no chat requests
  int64_t vocab_size = 0;
  int64_t max_length = 0;  // prompt and response, in tokens
  ToolCallForm tool_call_form = ToolCallForm::kMarked;
  Grammars* grammars = nullptr;  // over its tokens; null: no response formats
  std::string no_grammars = "only {\"type\": \"text\"} is supported here";  // the reason, if `grammars` is null
  bool scores_tokens = false;  // the sink can score tokens that were not sampled (token_scores.h)
};

enum class CompletionKind { kChat, kText };

struct CompletionRequest {
  CompletionKind kind = CompletionKind::kText;
  std::vector<std::vector<int64_t>> prompts;  // token ids; exactly one for a chat
  std::vector<std::string> texts{};           // the prompts as text; empty if they came as ids or messages
  Json messages{};                            // chat only, else null
  Json variables = Json::object();            // variables of the chat template, tools included
  int64_t num_choices = 1;                    // responses per prompt
  SamplingSettings sampling;
  std::optional<uint64_t> seed;
  bool streams = false, with_usage = false;  // with_usage: ends a stream with a usage chunk
  bool with_log_probs = false, with_token_ids = false;
  int64_t num_likeliest = 0;    // likeliest tokens whose log-probs are returned at each position
  bool echoes = false;          // the text answer begins with the prompt
  bool has_tools = false;       // tools may be called
  bool calls_one = false;       // only the first tool call is answered
  Json given = Json::object();  // the body's numbers and flags, as given
  size_t num_body_bytes = 0;    // size of the whole body

  /// Returns true if the answer needs log-probs that the sampler does not keep.
  bool needs_scores() const { return num_likeliest > 0 || (echoes && with_log_probs); }
};

/// The request names a model that is not served.
struct UnknownModel : UserError {
  using UserError::UserError;
};

/// Reads a request body. It may have the fields of OpenAI's API, vLLM's sampling fields (top_k, min_p,
/// repetition_penalty, ...) and return_token_ids. Fields without effect here (user, store, ...) are ignored; fields
/// that ask for an unsupported feature are refused. UserError "field = value: rule": a field is invalid or unsupported.
/// UnknownModel: another model is named.
CompletionRequest read_completion(CompletionKind kind, Json body, const ServedModel& model);

}  // namespace roll
