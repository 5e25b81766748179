#include "text/chat_template.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/nearest.h"
#include "checkpoint/base_folder.h"
#include "jinja/template.h"
#include "text/builtin_templates.h"
#include "text/json_view.h"

namespace roll {

namespace fs = std::filesystem;
using jinja::Dict;
using jinja::Value;

namespace {

struct Source {
  std::string text, origin;
};

/// `chat_template` of tokenizer_config.json: the text, or a list of named ones of which "default" counts.
Source read_config_template(const JsonView& json) {
  if (!json.value().is_array()) return {json.string(), json.where()};
  for (size_t i = 0; i < json.size(); ++i) {
    const JsonView entry = json.at(i);
    if (entry.at("name").string() == "default") return {entry.at("template").string(), entry.at("template").where()};
  }
  json.fail("none of these templates is named \"default\"; choose a built-in one instead of native");
}

Source native_source(const fs::path& folder, const std::optional<JsonView>& config) {
  const fs::path file = folder / "chat_template.jinja";
  if (is_there(file)) return {read_file(file), file.string()};
  const auto entry = config ? config->get("chat_template") : std::nullopt;
  if (entry) return read_config_template(*entry);
  throw user_error(
      "{}: has no chat template (neither chat_template.jinja nor chat_template in tokenizer_config.json); choose a "
      "built-in template: {}",
      folder.string(), fmt::join(builtin_template_names(), ", "));
}

/// bos_token, eos_token and so on, which templates print.
Dict special_token_variables(const std::optional<JsonView>& config) {
  Dict out;
  for (const char* name :
       {"bos_token", "eos_token", "pad_token", "unk_token", "sep_token", "cls_token", "mask_token"}) {
    const auto token = config ? config->get(name) : std::nullopt;
    if (token)
      out.emplace_back(name, Value(token->value().is_object() ? token->at("content").string() : token->string()));
  }
  return out;
}

/// [{"type": "text", "text": "a"}, ...] -> "a...".
std::string joined_parts(const Json& parts, const std::string& where) {
  std::string text;
  for (const Json& part : parts) {
    const bool is_text =
        part.is_object() && part.value("type", Json()) == "text" && part.contains("text") && part["text"].is_string();
    if (!is_text)
      throw user_error(R"({}: a part must be {{"type": "text", "text": "..."}}; other media are not supported)", where);
    text += part["text"].get<std::string>();
  }
  return text;
}

Json checked_message(const Json& message, const std::string& where) {
  if (!message.is_object()) throw user_error(R"({}: must be {{"role": ..., "content": ...}})", where);
  if (!message.contains("role") || !message["role"].is_string()) throw user_error("{}.role: must be a string", where);
  Json out = message;
  const Json content = message.value("content", Json());
  if (content.is_array())
    out["content"] = joined_parts(content, where + ".content");
  else if (!content.is_string() && !(content.is_null() && message.contains("tool_calls")))
    throw user_error("{}.content: must be a string or a list of text parts", where);
  return out;
}

Value checked_messages(const Json& messages) {
  if (!messages.is_array() || messages.empty()) throw user_error("messages: must be a list of at least one message");
  Json out = Json::array();
  for (size_t i = 0; i < messages.size(); ++i)
    out.push_back(checked_message(messages[i], fmt::format("messages[{}]", i)));
  return Value::from_json(out);
}

void set(Dict& variables, const std::string& name, Value value) {
  const auto old = std::ranges::find(variables, name, &Dict::value_type::first);
  if (old == variables.end())
    variables.emplace_back(name, std::move(value));
  else
    old->second = std::move(value);
}

}  // namespace

struct ChatTemplate::Parts {
  jinja::Template body;
  Dict variables;
};

const std::vector<std::string>& ChatTemplate::names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names = builtin_template_names();
    names.insert(names.begin(), "native");
    return names;
  }();
  return kNames;
}

ChatTemplate ChatTemplate::load(const fs::path& model, const std::string& name, std::optional<bool> enable_thinking) {
  const fs::path folder = tokenizer_folder(model);
  const bool is_native = name.empty() || name == "native";
  if (!is_native && std::ranges::find(names(), name) == names().end())
    throw user_error("template = {}: must be one of {}{}", name, fmt::join(names(), ", "), did_you_mean(name, names()));
  const fs::path file = folder / "tokenizer_config.json";
  const FileJson json = is_there(file) ? read_file_json(file) : FileJson();
  const std::optional<JsonView> config = json.is_null() ? std::nullopt : std::optional(JsonView(json, file.string()));
  auto parts = std::make_shared<Parts>();
  parts->variables = special_token_variables(config);
  if (name == "llama3" && !Value(parts->variables).member("bos_token"))
    set(parts->variables, "bos_token", "<|begin_of_text|>");
  if (enable_thinking) set(parts->variables, "enable_thinking", *enable_thinking);
  const Source source = is_native
                            ? native_source(folder, config)
                            : Source{std::string(builtin_template(name)), fmt::format("built-in template {}", name)};
  parts->body = jinja::Template::parse(source.text, source.origin);
  return ChatTemplate(std::move(parts));
}

std::string ChatTemplate::render(const Json& messages, bool add_generation_prompt) const {
  return render(messages, add_generation_prompt, Json::object());
}

std::string ChatTemplate::render(const Json& messages, bool add_generation_prompt, const Json& variables) const {
  if (!variables.is_object()) throw user_error("template variables: must be a JSON object");
  Dict all = parts_->variables;
  try {
    set(all, "messages", checked_messages(messages));
    set(all, "tools", jinja::None{});
    set(all, "documents", jinja::None{});
    set(all, "add_generation_prompt", add_generation_prompt);
    for (const auto& [name, value] : variables.items()) set(all, name, Value::from_json(value));
  } catch (const jinja::Failure& failure) {
    throw user_error("messages: {}", failure.what());
  }
  return parts_->body.render(all);
}

}  // namespace roll
