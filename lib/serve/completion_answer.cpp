#include "serve/completion_answer.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "text/tokenizer.h"

namespace roll {

namespace {

/// OpenAI's words.
std::string finish_word(FinishReason reason, bool calls) {
  if (calls) return "tool_calls";
  return reason == FinishReason::kLength ? "length" : "stop";
}

Json calls_json(const std::vector<ToolCall>& calls, const std::string& id, bool is_chunk) {
  Json list = Json::array();
  for (size_t i = 0; i < calls.size(); ++i) {
    Json call = is_chunk ? Json{{"index", i}} : Json::object();
    call.update({{"id", fmt::format("call_{}_{}", id, i)},
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
      decode_([&model](std::span<const int64_t> ids, bool skip) { return model.tokenizer.decode(ids, skip); }),
      id_(std::move(id)),
      created_(created),
      num_open_(request.prompts.size() * static_cast<size_t>(request.num_choices)) {
  for (size_t i = 0; i < num_open_; ++i)
    choices_.push_back({.text = TextStream(request.sampling, decode_), .ended = {}});
}

std::vector<Json> CompletionAnswer::hear(ChoiceNews news) {
  Choice& choice = choices_.at(news.choice);
  std::vector<Json> chunks;
  const bool is_chat = request_.kind == CompletionKind::kChat;
  if (request_.streams && is_chat && !std::exchange(choice.has_begun, true))
    chunks.push_back(chunk(news.choice, {{"role", "assistant"}, {"content", ""}}, {}, nullptr));
  if (news.ended) {
    choice.ended = std::move(news.ended);
    --num_open_;
    if (request_.streams) add_end(news.choice, choice, chunks);
  } else if (!news.ids.empty()) {
    choice.ids.insert(choice.ids.end(), news.ids.begin(), news.ids.end());
    choice.shown += choice.text.more(choice.ids);
    const std::string said = newly_said(choice);
    if (!said.empty() || request_.with_log_probs || request_.with_token_ids)
      chunks.push_back(chunk(news.choice, is_chat ? Json{{"content", said}} : Json(said), news, nullptr));
  }
  return chunks;
}

/// What of the shown text is new and, where tools may be called, no part of a call.
std::string CompletionAnswer::newly_said(Choice& choice) {
  const size_t end = request_.has_tools ? sure_content(choice.shown, model_.tool_call_form) : choice.shown.size();
  const size_t begin = std::exchange(choice.num_told, std::max(choice.num_told, end));
  return choice.shown.substr(begin, choice.num_told - begin);
}

void CompletionAnswer::add_end(size_t index, Choice& choice, std::vector<Json>& chunks) {
  const bool is_chat = request_.kind == CompletionKind::kChat;
  const SpokenAndCalled parts = parts_of(choice.ended->text);
  const std::string rest = parts.content.substr(std::min(choice.num_told, parts.content.size()));
  if (!rest.empty()) chunks.push_back(chunk(index, is_chat ? Json{{"content", rest}} : Json(rest), {}, nullptr));
  if (!parts.calls.empty())
    chunks.push_back(
        chunk(index, {{"tool_calls", calls_json(parts.calls, fmt::format("{}_{}", id_, index), true)}}, {}, nullptr));
  chunks.push_back(chunk(index, is_chat ? Json::object() : Json(""), {},
                         finish_word(choice.ended->finish_reason, !parts.calls.empty())));
}

SpokenAndCalled CompletionAnswer::parts_of(const std::string& text) const {
  if (!request_.has_tools) return {text, {}};
  return split_tool_calls(text, model_.tool_call_form, request_.variables["tools"]);
}

Json CompletionAnswer::frame(bool is_chunk) const {
  const bool is_chat = request_.kind == CompletionKind::kChat;
  const char* const object = !is_chat ? "text_completion" : is_chunk ? "chat.completion.chunk" : "chat.completion";
  return {{"id", id_}, {"object", object}, {"created", created_}, {"model", model_.name}};
}

Json CompletionAnswer::chunk(size_t index, const Json& said, const ChoiceNews& news, const Json& finish_reason) const {
  Json choice = {
      {"index", index},
      {request_.kind == CompletionKind::kChat ? "delta" : "text", said},
      {"logprobs", request_.with_log_probs && !news.ids.empty() ? log_probs(news.ids, news.log_probs) : Json()},
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
    const SpokenAndCalled parts = parts_of(response.text);
    Json choice = {{"index", i}};
    if (request_.kind == CompletionKind::kText) {
      choice["text"] = response.text;
    } else {
      choice["message"] = {{"role", "assistant"}, {"content", parts.content}};
      if (!parts.calls.empty())
        choice["message"]["tool_calls"] = calls_json(parts.calls, fmt::format("{}_{}", id_, i), false);
      if (!parts.calls.empty() && parts.content.empty()) choice["message"]["content"] = nullptr;
    }
    choice["logprobs"] = request_.with_log_probs ? log_probs(response.ids, response.log_probs) : Json();
    choice["finish_reason"] = finish_word(response.finish_reason, !parts.calls.empty());
    if (request_.with_token_ids) {
      choice["prompt_token_ids"] = request_.prompts[i / static_cast<size_t>(request_.num_choices)];
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

Json CompletionAnswer::log_probs(const std::vector<int64_t>& ids, const std::vector<float>& values) const {
  const auto text = [&](int64_t id) { return model_.tokenizer.decode(std::span(&id, 1)); };
  if (request_.kind == CompletionKind::kChat) {
    Json content = Json::array();
    for (size_t i = 0; i < ids.size(); ++i)
      content.push_back({{"token", text(ids[i])},
                         {"logprob", json_float(values[i])},
                         {"bytes", nullptr},
                         {"top_logprobs", Json::array()}});
    return {{"content", std::move(content)}};
  }
  Json lists = {{"tokens", Json::array()}, {"token_logprobs", Json::array()}, {"top_logprobs", nullptr}};
  for (size_t i = 0; i < ids.size(); ++i) {
    lists["tokens"].push_back(text(ids[i]));
    lists["token_logprobs"].push_back(json_float(values[i]));
  }
  return lists;
}

}  // namespace roll
