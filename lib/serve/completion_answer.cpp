#include "serve/completion_answer.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/bytes.h"
#include "text/tokenizer.h"
#include "unicode/unicode.h"

namespace roll {

namespace {

/// Returns OpenAI's name of a finish reason.
std::string finish_reason_name(FinishReason reason, bool calls) {
  if (calls) return "tool_calls";
  return reason == FinishReason::kLength ? "length" : "stop";
}

/// Returns calls as JSON. Ids are unique in a conversation and have nine characters, as Mistral's templates demand.
Json calls_json(const std::vector<ToolCall>& calls, const std::string& id, bool is_chunk) {
  Json list = Json::array();
  for (size_t i = 0; i < calls.size(); ++i) {
    Json call = is_chunk ? Json{{"index", i}} : Json::object();
    call.update({{"id", fmt::format("{:09x}", fnv1a(fmt::format("{}_{}", id, i)) >> 28)},
                 {"type", "function"},
                 {"function", {{"name", calls[i].name}, {"arguments", calls[i].arguments}}}});
    list.push_back(std::move(call));
  }
  return list;
}

}  // namespace

CompletionAnswer::CompletionAnswer(const CompletionRequest& request, const ServedModel& model, std::string id,
                                   int64_t created)
    : request_(request),
      model_(model),
      decode_([&model](std::span<const int64_t> ids, bool skip) {
        return model.tokenizer.decode(ids, skip, /*more_follows=*/true);
      }),
      id_(std::move(id)),
      created_(created),
      num_open_(request.prompts.size() * static_cast<size_t>(request.num_choices)) {
  for (size_t i = 0; i < num_open_; ++i)
    choices_.push_back({.text = TextStream(request.sampling, decode_), .ended = {}});
}

std::vector<Json> CompletionAnswer::add_news(ChoiceNews news) {
  Choice& choice = choices_.at(news.choice);
  std::vector<Json> chunks;
  const bool is_chat = request_.kind == CompletionKind::kChat;
  if (request_.streams && !std::exchange(choice.has_begun, true)) {
    if (is_chat) chunks.push_back(chunk(news.choice, {{"role", "assistant"}, {"content", ""}}, {}, nullptr));
    if (request_.echoes) chunks.push_back(chunk(news.choice, echo(news.choice), {}, nullptr));
  }
  if (news.ended) {
    choice.ended = std::move(news.ended);
    choice.scores = std::move(news.scores);
    --num_open_;
    if (request_.streams) add_final_chunks(news.choice, choice, chunks);
  } else if (!news.ids.empty()) {
    choice.ids.insert(choice.ids.end(), news.ids.begin(), news.ids.end());
    choice.shown += choice.text.next_text(choice.ids);
    const std::string content = take_new_content(choice);
    if (!content.empty() || request_.with_log_probs || request_.with_token_ids)
      chunks.push_back(chunk(news.choice, is_chat ? Json{{"content", content}} : Json(content), news, nullptr));
  }
  return chunks;
}

/// Returns the new part of the text that is certainly not part of a tool call.
std::string CompletionAnswer::take_new_content(Choice& choice) {
  const size_t end =
      request_.has_tools ? sure_content(choice.shown, choice.num_sent, model_.tool_call_form) : choice.shown.size();
  const size_t begin = std::exchange(choice.num_sent, std::max(choice.num_sent, end));
  return choice.shown.substr(begin, choice.num_sent - begin);
}

void CompletionAnswer::add_final_chunks(size_t index, Choice& choice, std::vector<Json>& chunks) {
  const bool is_chat = request_.kind == CompletionKind::kChat;
  const ContentAndCalls parts = split_calls(choice.ended->text);
  const std::string remaining_content = parts.content.substr(std::min(choice.num_sent, parts.content.size()));
  if (!remaining_content.empty() || request_.needs_scores())
    chunks.push_back(
        chunk(index, is_chat ? Json{{"content", remaining_content}} : Json(remaining_content), {}, nullptr));
  if (request_.needs_scores()) {
    Json& last_choice = chunks.back()["choices"][0];
    last_choice["logprobs"] = log_probs(scored_tokens(index));
    if (request_.with_token_ids) last_choice["token_ids"] = choice.ended->ids;
  }
  if (!parts.calls.empty())
    chunks.push_back(
        chunk(index, {{"tool_calls", calls_json(parts.calls, fmt::format("{}_{}", id_, index), true)}}, {}, nullptr));
  chunks.push_back(chunk(index, is_chat ? Json::object() : Json(""), {},
                         finish_reason_name(choice.ended->finish_reason, !parts.calls.empty())));
}

ContentAndCalls CompletionAnswer::split_calls(const std::string& text) const {
  if (!request_.has_tools) return {text, {}};
  ContentAndCalls parts = split_tool_calls(text, model_.tool_call_form, request_.variables["tools"]);
  if (request_.calls_one && parts.calls.size() > 1) parts.calls.resize(1);
  return parts;
}

Json CompletionAnswer::frame(bool is_chunk) const {
  const bool is_chat = request_.kind == CompletionKind::kChat;
  const char* const object = !is_chat ? "text_completion" : is_chunk ? "chat.completion.chunk" : "chat.completion";
  return {{"id", id_}, {"object", object}, {"created", created_}, {"model", model_.name}};
}

Json CompletionAnswer::chunk(size_t index, const Json& delta_or_text, const ChoiceNews& news,
                             const Json& finish_reason) const {
  std::vector<ScoredToken> tokens;
  for (size_t i = 0; request_.with_log_probs && i < news.ids.size(); ++i)
    tokens.push_back({news.ids[i], news.log_probs.at(i)});
  Json choice = {{"index", index},
                 {request_.kind == CompletionKind::kChat ? "delta" : "text", delta_or_text},
                 {"logprobs", tokens.empty() ? Json() : log_probs(tokens)},
                 {"finish_reason", finish_reason}};
  if (request_.with_token_ids && !news.ids.empty()) choice["token_ids"] = news.ids;
  Json chunk = frame(true);
  chunk["choices"] = Json::array({std::move(choice)});
  return chunk;
}

Json CompletionAnswer::whole() const {
  Json list = Json::array();
  for (size_t i = 0; i < choices_.size(); ++i) {
    const Generation& response = *choices_[i].ended;
    const ContentAndCalls parts = split_calls(response.text);
    Json choice = {{"index", i}};
    if (request_.kind == CompletionKind::kText) {
      choice["text"] = (request_.echoes ? echo(i) : "") + response.text;
    } else {
      choice["message"] = {{"role", "assistant"}, {"content", parts.content}};
      if (!parts.calls.empty())
        choice["message"]["tool_calls"] = calls_json(parts.calls, fmt::format("{}_{}", id_, i), false);
      if (!parts.calls.empty() && parts.content.empty()) choice["message"]["content"] = nullptr;
    }
    choice["logprobs"] = request_.with_log_probs ? log_probs(scored_tokens(i)) : Json();
    choice["finish_reason"] = finish_reason_name(response.finish_reason, !parts.calls.empty());
    if (request_.with_token_ids) {
      choice["prompt_token_ids"] = prompt_ids(i);
      choice["token_ids"] = response.ids;
    }
    list.push_back(std::move(choice));
  }
  Json body = frame(false);
  body["choices"] = std::move(list);
  body["usage"] = usage();
  return body;
}

std::vector<Json> CompletionAnswer::usage_chunk() const {
  if (!request_.with_usage) return {};
  Json chunk = frame(true);
  chunk["choices"] = Json::array();
  chunk["usage"] = usage();
  return {chunk};
}

Json CompletionAnswer::usage() const {
  size_t prompt = 0, drawn = 0;
  for (const auto& ids : request_.prompts) prompt += ids.size();
  for (const Choice& choice : choices_) drawn += choice.ended->ids.size();
  return {{"prompt_tokens", prompt}, {"completion_tokens", drawn}, {"total_tokens", prompt + drawn}};
}

const std::vector<int64_t>& CompletionAnswer::prompt_ids(size_t index) const {
  return request_.prompts[index / static_cast<size_t>(request_.num_choices)];
}

/// Returns the prompt's text; decodes a prompt of token ids.
std::string CompletionAnswer::echo(size_t index) const {
  const size_t prompt = index / static_cast<size_t>(request_.num_choices);
  return request_.texts.empty() ? model_.tokenizer.decode(prompt_ids(index)) : request_.texts.at(prompt);
}

/// Returns the tokens of a finished choice, after those of its prompt if that is echoed.
std::vector<CompletionAnswer::ScoredToken> CompletionAnswer::scored_tokens(size_t index) const {
  const Choice& choice = choices_[index];
  const std::vector<int64_t>& prompt = prompt_ids(index);
  const auto score = [&](size_t position) { return choice.scores.empty() ? nullptr : &choice.scores.at(position - 1); };
  std::vector<ScoredToken> tokens;
  for (size_t i = 0; request_.echoes && i < prompt.size(); ++i)
    tokens.push_back(i == 0 ? ScoredToken{prompt[i], {}} : ScoredToken{prompt[i], score(i)->log_prob, score(i)});
  for (size_t i = 0; i < choice.ended->ids.size(); ++i)
    tokens.push_back({choice.ended->ids[i], choice.ended->log_probs.at(i), score(prompt.size() + i)});
  return tokens;
}

Json CompletionAnswer::log_probs(const std::vector<ScoredToken>& tokens) const {
  const auto text = [&](int64_t id) { return to_valid_utf8(model_.tokenizer.token_bytes(id)); };
  const auto token_json = [&](int64_t id, float log_prob) {
    Json bytes = Json::array();
    for (const char byte : model_.tokenizer.token_bytes(id)) bytes.push_back(static_cast<unsigned char>(byte));
    return Json{{"token", text(id)}, {"logprob", json_float(log_prob)}, {"bytes", std::move(bytes)}};
  };
  if (request_.kind == CompletionKind::kChat) {
    Json content = Json::array();
    for (const ScoredToken& token : tokens) {
      Json likeliest = Json::array();
      if (token.score)
        for (const auto& [id, log_prob] : token.score->likeliest) likeliest.push_back(token_json(id, log_prob));
      content.push_back(token_json(token.id, token.log_prob.value()));
      content.back()["top_logprobs"] = std::move(likeliest);
    }
    return {{"content", std::move(content)}};
  }
  Json lists = {{"tokens", Json::array()}, {"token_logprobs", Json::array()}, {"top_logprobs", nullptr}};
  if (request_.num_likeliest > 0) lists["top_logprobs"] = Json::array();
  for (const ScoredToken& token : tokens) {
    lists["tokens"].push_back(text(token.id));
    lists["token_logprobs"].push_back(token.log_prob ? json_float(*token.log_prob) : Json());
    if (request_.num_likeliest == 0) continue;
    Json likeliest;  // by token text, including the sampled token
    if (token.score)
      for (const auto& [id, log_prob] : token.score->likeliest) likeliest.emplace(text(id), json_float(log_prob));
    if (token.score) likeliest.emplace(text(token.id), json_float(*token.log_prob));
    lists["top_logprobs"].push_back(std::move(likeliest));
  }
  return lists;
}

}  // namespace roll
