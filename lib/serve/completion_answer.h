// Writes the answer to one request in the form of OpenAI's API, for CompletionServer: as one body, or as stream chunks
// while tokens are sampled. A choice is one of the responses to the request; choices are numbered prompt by prompt.
#pragma once

#include <string>
#include <vector>

#include "rollout/text_stream.h"
#include "serve/completion_request.h"
#include "serve/request_queue.h"

namespace roll {

class CompletionAnswer {
 public:
  /// `id` and `created` (seconds since 1970) become fields of the answer. `request` and `model` must outlive the
  /// object.
  CompletionAnswer(const CompletionRequest& request, const ServedModel& model, std::string id, int64_t created);
  CompletionAnswer(const CompletionAnswer&) = delete;
  CompletionAnswer& operator=(const CompletionAnswer&) = delete;

  /// Adds new tokens or the end of a choice. Returns the stream chunks for them, in order; they have no meaning if the
  /// request does not stream.
  std::vector<Json> add_news(ChoiceNews news);
  /// Returns true if all choices have ended.
  bool is_whole() const { return num_open_ == 0; }

  /// Returns the body of an answer that is not streamed. Call it only if is_whole().
  Json whole() const;
  /// Returns the chunk with token counts that ends a stream; an empty list if the request did not ask for it. Call it
  /// only if is_whole().
  std::vector<Json> usage_chunk() const;

 private:
  struct Choice {
    TextStream text;
    std::vector<int64_t> ids{};
    std::string shown{};  // text so far, including possible tool calls
    size_t num_sent = 0;  // bytes of `shown` already sent
    bool has_begun = false;
    std::optional<Generation> ended;
    std::vector<TokenScore> scores{};
  };
  /// A token of `logprobs`.
  struct ScoredToken {
    int64_t id = 0;
    std::optional<float> log_prob;  // nats; unset for the first token of a prompt
    const TokenScore* score = nullptr;
  };
  Json frame(bool is_chunk) const;
  Json chunk(size_t index, const Json& delta_or_text, const ChoiceNews& news, const Json& finish_reason) const;
  std::string take_new_content(Choice& choice);
  void add_final_chunks(size_t index, Choice& choice, std::vector<Json>& chunks);
  Json usage() const;
  const std::vector<int64_t>& prompt_ids(size_t index) const;
  std::string echo(size_t index) const;
  std::vector<ScoredToken> scored_tokens(size_t index) const;
  Json log_probs(const std::vector<ScoredToken>& tokens) const;
  ContentAndCalls split_calls(const std::string& text) const;

  const CompletionRequest& request_;
  const ServedModel& model_;
  DecodeText decode_;
  std::string id_;
  int64_t created_;
  std::vector<Choice> choices_;
  size_t num_open_;
};

}  // namespace roll
