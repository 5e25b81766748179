#include "collect/agent_history.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "collect/text_difference.h"

namespace roll {

namespace {

constexpr const char* kRule = "earlier turns must not change: send them back unchanged, and append to them";

/// Describes the first difference of two texts.
std::string text_difference(const std::string& before, const std::string& now) {
  const auto [at, was, is] = first_difference(before, now);
  return fmt::format("at character {}, {} became {}", at, was, is);
}

/// Returns names and arguments of the tool calls; other fields do not matter.
Json tool_calls(const Json& message) {
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
  const Json old_calls = tool_calls(before), new_calls = tool_calls(now);
  if (old_calls != new_calls) return "in its tool_calls, " + text_difference(to_line(old_calls), to_line(new_calls));
  return std::nullopt;
}

size_t num_equal_messages(const Json& older, const Json& newer) {
  size_t i = 0;
  while (i < older.size() && i < newer.size() && !message_difference(older[i], newer[i])) ++i;
  return i;
}

Json messages_from(const Json& messages, size_t from) {
  return Json(messages.begin() + static_cast<int64_t>(from), messages.end());
}

bool is_from_model(const Json& message) {
  return message["role"] == "assistant";
}

[[noreturn]] void refuse_chat(const AgentNode& nearest, const Json& messages) {
  const size_t num_equal = num_equal_messages(nearest.messages, messages);
  if (num_equal == messages.size()) throw user_error("messages: adds nothing after the model's last turn; {}", kRule);
  if (num_equal < nearest.messages.size())
    throw user_error("messages[{}]: {}; {}", num_equal,
                     *message_difference(nearest.messages[num_equal], messages[num_equal]), kRule);
  const auto foreign = std::find_if(messages.begin() + static_cast<int64_t>(num_equal), messages.end(), is_from_model);
  if (foreign == messages.end())
    throw user_error("messages[{}]: was inserted before the model's first turn, which was sampled without it; {}",
                     num_equal, kRule);
  throw user_error("messages[{}]: is an assistant message that the model did not write in this session; {}",
                   foreign - messages.begin(), kRule);
}

BranchPoint find_chat_branch(const std::vector<AgentNode>& nodes, const CompletionRequest& request,
                             const TurnTokens& tokens) {
  const Json& messages = request.messages;
  if (request.variables != nodes.front().variables)
    throw UserError(
        "tools, chat_template_kwargs: differ from those of the session's first request, with which all turns were "
        "sampled; send the same ones");
  std::optional<size_t> found;
  size_t nearest = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Json& before = nodes[i].messages;
    const size_t num_equal = num_equal_messages(before, messages);
    if (num_equal >= num_equal_messages(nodes[nearest].messages, messages)) nearest = i;
    const bool adds = num_equal < messages.size() &&
                      std::none_of(messages.begin() + static_cast<int64_t>(num_equal), messages.end(), is_from_model);
    const bool continues_node = num_equal == before.size() && (i == 0 ? num_equal == messages.size() : adds);
    if (continues_node && (!found || before.size() >= nodes[*found].messages.size())) found = i;
  }
  if (!found) refuse_chat(nodes[nearest], messages);
  const AgentNode& node = nodes[*found];
  BranchPoint branch_point{.node = *found, .added_messages = messages_from(messages, node.messages.size())};
  if (*found > 0)
    branch_point.added_ids = tokens.tokens_between({nodes.front().messages, node.variables, node.answers},
                                                   branch_point.added_messages, node.so_far.ids.back());
  return branch_point;
}

std::vector<int64_t> all_ids(const AgentNode& node) {
  std::vector<int64_t> ids = node.so_far.prompt_ids;
  ids.insert(ids.end(), node.so_far.ids.begin(), node.so_far.ids.end());
  return ids;
}

BranchPoint find_token_branch(const std::vector<AgentNode>& nodes, const std::vector<int64_t>& prompt) {
  std::optional<size_t> found;
  size_t nearest = 0, longest = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const std::vector<int64_t> ids = all_ids(nodes[i]);
    const auto num_equal = static_cast<size_t>(std::ranges::mismatch(ids, prompt).in1 - ids.begin());
    if (num_equal >= longest) nearest = i;
    longest = std::max(longest, num_equal);
    const bool is_prefix = num_equal == ids.size() && (i > 0 || num_equal == prompt.size());
    if (is_prefix && (!found || ids.size() >= all_ids(nodes[*found]).size())) found = i;
  }
  if (!found) {
    const std::vector<int64_t> ids = all_ids(nodes[nearest]);
    const auto at = [&](const auto& list) { return longest < list.size() ? std::to_string(list[longest]) : "the end"; };
    throw user_error("prompt: at token {}, {} became {}; {}", longest, at(ids), at(prompt), kRule);
  }
  return {.node = *found, .added_ids = {prompt.begin() + std::ssize(all_ids(nodes[*found])), prompt.end()}};
}

BranchPoint find_text_branch(const std::vector<AgentNode>& nodes, const std::string& text, const Tokenizer& tokenizer) {
  std::optional<size_t> found;
  const std::string* nearest = nullptr;
  const auto common_length = [&](const std::string& before) {
    return std::ranges::mismatch(before, text).in1 - before.begin();
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].text) continue;
    const std::string& before = *nodes[i].text;
    if (!nearest || common_length(before) >= common_length(*nearest)) nearest = &before;
    const bool is_prefix = text.starts_with(before) && (i > 0 || text == before);
    if (is_prefix && (!found || before.size() >= nodes[*found].text->size())) found = i;
  }
  if (!nearest) throw user_error("prompt: the session began with token ids; send token ids again");
  if (!found) throw user_error("prompt: {}; {}", text_difference(*nearest, text), kRule);
  const AgentNode& node = nodes[*found];
  return {.node = *found, .added_ids = tokenizer.encode_behind(all_ids(node), text.substr(node.text->size()))};
}

}  // namespace

AgentNode first_node(const CompletionRequest& request) {
  AgentNode node{.messages = request.messages, .variables = request.variables};
  node.so_far.prompt_ids = request.prompts.front();
  if (!request.texts.empty()) node.text = request.texts.front();
  return node;
}

BranchPoint find_branch_point(const std::vector<AgentNode>& nodes, const CompletionRequest& request,
                              const TurnTokens& tokens, const Tokenizer& tokenizer) {
  const bool is_chat = request.kind == CompletionKind::kChat;
  if (is_chat == nodes.front().messages.is_null())
    throw user_error("this session began at {}; send all its requests there",
                     is_chat ? "/completions" : "/chat/completions");
  if (is_chat) return find_chat_branch(nodes, request, tokens);
  if (request.texts.empty()) return find_token_branch(nodes, request.prompts.front());
  return find_text_branch(nodes, request.texts.front(), tokenizer);
}

AgentNode next_node(const AgentNode& before, const BranchPoint& branch_point, const CompletionRequest& request,
                    const std::string& text, ToolCallForm form) {
  AgentNode node{.messages = request.messages, .variables = before.variables, .answers = before.answers};
  if (!branch_point.added_messages.empty()) node.answers.push_back(branch_point.added_messages);
  if (!request.texts.empty()) node.text = request.texts.front() + text;
  if (request.kind == CompletionKind::kText) return node;
  const ContentAndCalls parts =
      request.has_tools ? split_tool_calls(text, form, request.variables["tools"]) : ContentAndCalls{text, {}};
  Json model_message{{"role", "assistant"}, {"content", parts.content}, {"tool_calls", Json::array()}};
  for (const ToolCall& call : parts.calls)
    model_message["tool_calls"].push_back(
        {{"function", {{"name", call.name}, {"arguments", parse_json(call.arguments, "arguments")}}}});
  node.messages.push_back(std::move(model_message));
  return node;
}

}  // namespace roll
