#include "collect/agent_history.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "collect/text_difference.h"

namespace roll {

namespace {

constexpr const char* kRule = "what was sampled stays as it was: send back what was answered, and add to it";

/// Describes the first difference of two texts.
std::string text_difference(const std::string& before, const std::string& now) {
  const auto [at, was, is] = first_difference(before, now);
  return fmt::format("at character {} there was {} and is now {}", at, was, is);
}

/// Returns names and arguments of the tool calls; other fields do not matter.
Json calls_of(const Json& message) {
  Json calls = Json::array();
  if (!message.contains("tool_calls")) return calls;
  for (const Json& call : message["tool_calls"]) {
    const Json& function = call["function"];
    calls.push_back({function["name"], function.contains("arguments") ? function["arguments"] : Json::object()});
  }
  return calls;
}

/// Describes how a message differs from the earlier one; nullopt if it does not.
std::optional<std::string> message_difference(const Json& before, const Json& now) {
  if (before["role"] != now["role"])
    return fmt::format("its role was {} and is now {}", to_line(before["role"]), to_line(now["role"]));
  if (before["content"] != now["content"])
    return "in its content, " +
           text_difference(before["content"].get<std::string>(), now["content"].get<std::string>());
  const Json calls = calls_of(before), others = calls_of(now);
  if (calls != others) return "in its tool_calls, " + text_difference(to_line(calls), to_line(others));
  return std::nullopt;
}

size_t num_alike(const Json& before, const Json& now) {
  size_t i = 0;
  while (i < before.size() && i < now.size() && !message_difference(before[i], now[i])) ++i;
  return i;
}

Json rest_of(const Json& messages, size_t from) {
  return Json(messages.begin() + static_cast<int64_t>(from), messages.end());
}

bool is_from_model(const Json& message) {
  return message["role"] == "assistant";
}

[[noreturn]] void refuse_chat(const AgentNode& nearest, const Json& messages) {
  const size_t alike = num_alike(nearest.messages, messages);
  if (alike == messages.size()) throw user_error("messages: holds nothing behind what the model said last; {}", kRule);
  if (alike < nearest.messages.size())
    throw user_error("messages[{}]: {}; {}", alike, *message_difference(nearest.messages[alike], messages[alike]),
                     kRule);
  const auto foreign = std::find_if(messages.begin() + static_cast<int64_t>(alike), messages.end(), is_from_model);
  if (foreign == messages.end())
    throw user_error("messages[{}]: lies before the model's first turn, which was drawn without it; {}", alike, kRule);
  throw user_error("messages[{}]: the model did not say it in this session; {}", foreign - messages.begin(), kRule);
}

AgentPlace place_of_chat(const std::vector<AgentNode>& nodes, const CompletionRequest& request,
                         const TurnTokens& tokens) {
  const Json& messages = request.messages;
  if (request.variables != nodes.front().variables)
    throw UserError(
        "tools, chat_template_kwargs: differ from those of the session's first request, as which they "
        "stand before all that was sampled; keep them");
  std::optional<size_t> found;
  size_t nearest = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Json& before = nodes[i].messages;
    const size_t alike = num_alike(before, messages);
    if (alike >= num_alike(nodes[nearest].messages, messages)) nearest = i;
    const bool adds = alike < messages.size() &&
                      std::none_of(messages.begin() + static_cast<int64_t>(alike), messages.end(), is_from_model);
    const bool goes_on = alike == before.size() && (i == 0 ? alike == messages.size() : adds);
    if (goes_on && (!found || before.size() >= nodes[*found].messages.size())) found = i;
  }
  if (!found) refuse_chat(nodes[nearest], messages);
  const AgentNode& node = nodes[*found];
  AgentPlace place{.node = *found, .added = rest_of(messages, node.messages.size())};
  if (*found > 0)
    place.between =
        tokens.behind({nodes.front().messages, node.variables, node.answers}, place.added, node.so_far.ids.back());
  return place;
}

std::vector<int64_t> all_ids(const AgentNode& node) {
  std::vector<int64_t> ids = node.so_far.prompt_ids;
  ids.insert(ids.end(), node.so_far.ids.begin(), node.so_far.ids.end());
  return ids;
}

AgentPlace place_of_ids(const std::vector<AgentNode>& nodes, const std::vector<int64_t>& prompt) {
  std::optional<size_t> found;
  size_t nearest = 0, longest = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const std::vector<int64_t> ids = all_ids(nodes[i]);
    const auto alike = static_cast<size_t>(std::ranges::mismatch(ids, prompt).in1 - ids.begin());
    if (alike >= longest) nearest = i;
    longest = std::max(longest, alike);
    const bool is_before = alike == ids.size() && (i > 0 || alike == prompt.size());
    if (is_before && (!found || ids.size() >= all_ids(nodes[*found]).size())) found = i;
  }
  if (!found) {
    const std::vector<int64_t> ids = all_ids(nodes[nearest]);
    const auto at = [&](const auto& list) { return longest < list.size() ? std::to_string(list[longest]) : "its end"; };
    throw user_error("prompt: at token {} there was {} and is now {}; {}", longest, at(ids), at(prompt), kRule);
  }
  return {.node = *found, .between = {prompt.begin() + std::ssize(all_ids(nodes[*found])), prompt.end()}};
}

AgentPlace place_of_text(const std::vector<AgentNode>& nodes, const std::string& text, const Tokenizer& tokenizer) {
  std::optional<size_t> found;
  const std::string* nearest = nullptr;
  const auto num_alike = [&](const std::string& before) {
    return std::ranges::mismatch(before, text).in1 - before.begin();
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].text) continue;
    const std::string& before = *nodes[i].text;
    if (!nearest || num_alike(before) >= num_alike(*nearest)) nearest = &before;
    const bool is_before = text.starts_with(before) && (i > 0 || text == before);
    if (is_before && (!found || before.size() >= nodes[*found].text->size())) found = i;
  }
  if (!nearest) throw user_error("prompt: the session goes on with token ids, as it began");
  if (!found) throw user_error("prompt: {}; {}", text_difference(*nearest, text), kRule);
  const AgentNode& node = nodes[*found];
  return {.node = *found, .between = tokenizer.encode_behind(all_ids(node), text.substr(node.text->size()))};
}

}  // namespace

AgentNode first_node(const CompletionRequest& request) {
  AgentNode node{.messages = request.messages, .variables = request.variables};
  node.so_far.prompt_ids = request.prompts.front();
  if (!request.texts.empty()) node.text = request.texts.front();
  return node;
}

AgentPlace find_agent_place(const std::vector<AgentNode>& nodes, const CompletionRequest& request,
                            const TurnTokens& tokens, const Tokenizer& tokenizer) {
  const bool is_chat = request.kind == CompletionKind::kChat;
  if (is_chat == nodes.front().messages.is_null())
    throw user_error("this session began at {}, and goes on there", is_chat ? "/completions" : "/chat/completions");
  if (is_chat) return place_of_chat(nodes, request, tokens);
  if (request.texts.empty()) return place_of_ids(nodes, request.prompts.front());
  return place_of_text(nodes, request.texts.front(), tokenizer);
}

AgentNode next_node(const AgentNode& before, const AgentPlace& place, const CompletionRequest& request,
                    const std::string& text, ToolCallForm form) {
  AgentNode node{.messages = request.messages, .variables = before.variables, .answers = before.answers};
  if (!place.added.empty()) node.answers.push_back(place.added);
  if (!request.texts.empty()) node.text = request.texts.front() + text;
  if (request.kind == CompletionKind::kText) return node;
  const SpokenAndCalled parts =
      request.has_tools ? split_tool_calls(text, form, request.variables["tools"]) : SpokenAndCalled{text, {}};
  Json said{{"role", "assistant"}, {"content", parts.content}, {"tool_calls", Json::array()}};
  for (const ToolCall& call : parts.calls)
    said["tool_calls"].push_back(
        {{"function", {{"name", call.name}, {"arguments", parse_json(call.arguments, "arguments")}}}});
  node.messages.push_back(std::move(said));
  return node;
}

}  // namespace roll
