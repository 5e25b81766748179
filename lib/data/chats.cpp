#include "data/chats.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/chat_message.h"
#include "data/columns.h"

namespace roll {

namespace {

bool calls_tools(const Json& message) {
  const Json* calls = column(message, "tool_calls");
  return calls && calls->is_array() && !calls->empty();
}

void rename_key(Json& message, const char* from, const char* to) {
  if (!message.contains(from) || message.contains(to)) return;
  message[to] = message[from];
  message.erase(from);
}

void check_content(const Json& message, const std::string& origin, const std::string& key) {
  if (!message.contains("content")) {
    if (calls_tools(message)) return;
    throw user_error("{}: {}: has no 'content'", origin, key);
  }
  const Json& content = message["content"];
  if (content.is_string()) return;
  const auto is_text = [](const Json& part) { return part.is_object() && part.contains("text"); };
  if (!content.is_array() || !std::ranges::all_of(content, is_text))
    throw wrong_column(origin, key + ".content", content, "a string or a list of text parts");
}

}  // namespace

Json normal_message(const Json& message) {
  Json normalised = template_message(message);
  rename_key(normalised, "from", "role");
  rename_key(normalised, "value", "content");
  return normalised;
}

Json parse_chat(const Json& value, const std::string& origin, const std::string& column) {
  const Json messages =
      value.is_string() ? parse_json(value.get_ref<const std::string&>(), origin + ": " + column) : value;
  if (!messages.is_array()) throw wrong_column(origin, column, messages, "a list of {role, content}");
  if (messages.empty()) throw user_error("{}: {} = []: has no messages", origin, column);
  Json chat = Json::array();
  for (size_t i = 0; i < messages.size(); ++i) {
    const std::string key = fmt::format("{}[{}]", column, i);
    if (!messages[i].is_object()) throw wrong_column(origin, key, messages[i], "an object {role, content}");
    Json message = normal_message(messages[i]);
    if (!message.contains("role")) throw user_error("{}: {}: has no 'role'", origin, key);
    if (!message["role"].is_string()) throw wrong_column(origin, key + ".role", message["role"], "a string");
    check_content(message, origin, key);
    chat.push_back(std::move(message));
  }
  return chat;
}

std::string content_text(const Json& message) {
  const Json* content = column(message, "content");
  if (!content) return "";
  if (content->is_string()) return content->get<std::string>();
  std::string text;
  for (const Json& part : *content)
    if (part.contains("text") && part["text"].is_string()) text += part["text"].get_ref<const std::string&>();
  return text;
}

bool is_assistant(const Json& message) {
  return message["role"] == "assistant";
}

bool is_system(const Json& message) {
  return message["role"] == "system" || message["role"] == "developer";
}

bool is_same(const Json& a, const Json& b) {
  return FileJson(a) == FileJson(b);
}

bool starts_with(const Json& chat, const Json& beginning) {
  return beginning.size() <= chat.size() && std::equal(beginning.begin(), beginning.end(), chat.begin(), is_same);
}

Json slice_messages(const Json& chat, size_t begin, size_t end) {
  return Json(Json::array_t(chat.begin() + static_cast<std::ptrdiff_t>(begin),
                            chat.begin() + static_cast<std::ptrdiff_t>(end)));
}

Json join_messages(Json chat, const Json& added) {
  chat.insert(chat.end(), added.begin(), added.end());
  return chat;
}

Json template_variables(const Json& row, const std::string& origin) {
  Json variables = Json::object();
  if (const Json* found = column(row, "tools"); found && *found != "") {
    const Json tools =
        found->is_string() ? parse_json(found->get_ref<const std::string&>(), origin + ": tools") : *found;
    const auto is_object = [](const Json& tool) { return tool.is_object(); };
    if (!tools.is_null() && (!tools.is_array() || !std::ranges::all_of(tools, is_object)))
      throw wrong_column(origin, "tools", *found, "a list of tool schemas, or such a list as JSON text");
    if (!tools.empty()) variables["tools"] = tools;
  }
  if (const Json* kwargs = column(row, "chat_template_kwargs")) {
    if (!kwargs->is_object()) throw wrong_column(origin, "chat_template_kwargs", *kwargs, "an object");
    variables.update(*kwargs);
  }
  return variables;
}

std::string render_row(const std::function<std::string(const Json& variables)>& render, const Json& variables,
                       const std::string& origin) {
  std::string text;
  try {
    text = render(variables);
  } catch (const UserError& e) {
    throw user_error("{}: {}", origin, e.what());
  }
  if (!variables.contains("tools")) return text;
  Json without_tools = variables;
  without_tools["tools"] = Json::array();  // not null, which tools-only templates could not render
  try {
    if (render(without_tools) != text) return text;
  } catch (const UserError&) {  // the template reads the tools
    return text;
  }
  throw user_error(
      "{}: tools: the chat template does not show the tools; choose a template that does, or remove the column",
      origin);
}

}  // namespace roll
