#include "text/chat_template.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/chat_message.h"
#include "base/error.h"
#include "base/file.h"
#include "base/nearest.h"
#include "checkpoint/base_folder.h"
#include "jinja/template.h"
#include "text/builtin_templates.h"
#include "text/json_view.h"
#include "text/special_tokens.h"

namespace roll {

namespace fs = std::filesystem;
using jinja::Dict;
using jinja::Value;

namespace {

constexpr const char *kDefault = "default", *kToolUse = "tool_use";
constexpr const char* kNoUsableTemplate =
    "none of these templates is named \"default\" or \"tool_use\"; choose a built-in template instead of native";

using Templates = std::map<std::string, jinja::Template>;

/// Keeps only the default and the tool template.
void add_template(Templates& out, const std::string& name, const std::string& source, const std::string& origin) {
  if (name == kDefault || name == kToolUse) out.insert_or_assign(name, jinja::Template::parse(source, origin));
}

/// Reads `chat_template` of tokenizer_config.json: a string, or a list or object of named templates.
Templates read_config_templates(const JsonView& json) {
  Templates out;
  const auto add = [&](const std::string& name, const JsonView& source) {
    add_template(out, name, source.string(), source.where());
  };
  if (json.value().is_object()) {
    for (const auto& [name, source] : json.value().items()) add(name, json.at(name));
  } else if (json.value().is_array()) {
    for (size_t i = 0; i < json.size(); ++i) add(json.at(i).at("name").string(), json.at(i).at("template"));
  } else {
    add(kDefault, json);
  }
  if (out.empty()) json.fail(kNoUsableTemplate);
  return out;
}

/// Reads chat_template.jinja and additional_chat_templates/; nullopt if there are none.
std::optional<Templates> read_template_files(const fs::path& folder) {
  Templates out;
  const fs::path file = folder / "chat_template.jinja", extra_folder = folder / "additional_chat_templates";
  bool has_files = is_there(file);
  if (has_files) add_template(out, kDefault, read_file(file), file.string());
  for (const fs::path& entry : list_folder(extra_folder)) {
    if (entry.extension() != ".jinja") continue;
    has_files = true;
    add_template(out, entry.stem().string(), read_file(entry), entry.string());
  }
  if (!has_files) return {};
  if (out.empty()) throw user_error("{}: {}", extra_folder.string(), kNoUsableTemplate);
  return out;
}

Templates native_templates(const fs::path& folder, const std::optional<JsonView>& config) {
  if (auto files = read_template_files(folder)) return *std::move(files);
  const auto entry = config ? config->get("chat_template") : std::nullopt;
  if (entry) return read_config_templates(*entry);
  throw user_error(
      "{}: has no chat template (neither chat_template.jinja nor chat_template in tokenizer_config.json); choose a "
      "built-in template: {}",
      folder.string(), fmt::join(builtin_template_names(), ", "));
}

/// Returns bos_token, eos_token and so on as template variables.
Dict special_token_variables(const fs::path& folder) {
  Dict out;
  for (const NamedToken& token : read_named_tokens(folder)) out.emplace_back(token.name, Value(token.spelling));
  return out;
}

/// Joins [{"type": "text", "text": "a"}, ...] to "a...". UserError: a part is not text.
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
  Json out = template_message(message);
  if (!out.contains("role") || !out["role"].is_string()) throw user_error("{}.role: must be a string", where);
  if (out.contains("content") ? !out["content"].is_string() && !out["content"].is_array() : !out.contains("tool_calls"))
    throw user_error("{}.content: must be a string or a list of text parts", where);
  if (out.contains("content") && out["content"].is_array())
    out["content"] = joined_parts(out["content"], where + ".content");
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
  std::string name;  // folder or built-in template, for errors
  Templates bodies;
  Dict variables;

  const jinja::Template& body(const Dict& all) const {
    const auto tools = std::ranges::find(all, "tools", &Dict::value_type::first);
    if (const auto body = bodies.find(kToolUse); body != bodies.end() && !tools->second.is_none()) return body->second;
    if (const auto body = bodies.find(kDefault); body != bodies.end()) return body->second;
    throw user_error(
        "{}: its only chat template is for tools (tool_use), but there are no tools; choose a built-in template", name);
  }
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
  parts->variables = special_token_variables(folder);
  if (name == "llama3" && !Value(parts->variables).member("bos_token"))
    set(parts->variables, "bos_token", "<|begin_of_text|>");
  if (enable_thinking) set(parts->variables, "enable_thinking", *enable_thinking);
  parts->name = is_native ? folder.string() : fmt::format("built-in template {}", name);
  if (is_native)
    parts->bodies = native_templates(folder, config);
  else
    parts->bodies.emplace(kDefault, jinja::Template::parse(builtin_template(name), parts->name));
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
  return parts_->body(all).render(all);
}

}  // namespace roll
