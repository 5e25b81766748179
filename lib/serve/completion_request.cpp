#include "serve/completion_request.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "config/json_node.h"
#include "config/keys.h"
#include "rollout/config.h"
#include "serve/response_form.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace roll {

namespace {

constexpr int64_t kTextTokens = 16;  // OpenAI's default for text completions
constexpr size_t kMaxStops = 16, kMaxStopBytes = 64 << 10, kMaxPrompts = 1024;
constexpr int64_t kMaxChoices = 1024, kMaxLikeliest = 20;
constexpr int64_t kMaxEchoedTokens = 1 << 19;  // prompt tokens in an answer, each with its likeliest ones

/// Fields that do not change the answer here: names for the operator's records, and hints.
const std::set<std::string>& ignored_fields() {
  static const std::set<std::string> keys = {
      "user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_retention"};
  return keys;
}

/// Unsupported fields, their values without effect, and the error message.
struct UnsupportedField {
  std::string key;
  std::vector<Json> values_without_effect;
  const char* rule;
};

const std::vector<UnsupportedField>& unsupported_fields() {
  static const std::vector<UnsupportedField> list = {
      {"functions", {Json::array()}, "is not supported; use tools"},
      {"function_call", {"none", "auto"}, "is not supported; use tool_choice"},
      {"modalities", {Json::array({"text"})}, "only text is supported"},
      {"audio", {}, "only text is supported"},
      {"prediction", {}, "predicted outputs are not supported"},
      {"reasoning_effort", {}, "depends on the chat template; give it in chat_template_kwargs"},
      {"suffix", {""}, "inserting text before a suffix is not supported"},
      {"best_of", {1}, "is not supported, because all choices are returned; use n"},
      {"use_beam_search", {false}, "beam search is not supported"},
      {"guided_json", {}, "is not supported; use response_format"},
      {"guided_regex", {}, "is not supported; use response_format with a schema that has pattern"},
      {"guided_choice", {}, "is not supported; use response_format with a schema that has enum"},
  };
  return list;
}

/// Fields that are numbers or flags.
struct Fields {
  GeneratingArgs sampling{.temperature = 1, .top_p = 1, .top_k = 0, .include_stop_str_in_output = false};
  std::optional<int64_t> max_tokens, max_completion_tokens, seed;
  int64_t n = 1, top_logprobs = 0;
  bool stream = false, echo = false, return_token_ids = false, add_generation_prompt = true, parallel_tool_calls = true;

  void fields(Keys& v) {
    v("temperature", sampling.temperature, "", within(1e-3, 1e3).or_also(0));
    v("top_p", sampling.top_p, "", above_to(0, 1));
    v("top_k", sampling.top_k, "", at_least(-1));
    v("min_p", sampling.min_p, "", within(0, 1));
    v("repetition_penalty", sampling.repetition_penalty, "", within(0.001, 1000));
    v("presence_penalty", sampling.presence_penalty, "");
    v("frequency_penalty", sampling.frequency_penalty, "");
    v("skip_special_tokens", sampling.skip_special_tokens, "");
    v("include_stop_str_in_output", sampling.include_stop_str_in_output, "");
    v("max_tokens", max_tokens, "", token_range());
    v("max_completion_tokens", max_completion_tokens, "", token_range());
    v("seed", seed, "", at_least(0));
    v("n", n, "", within(1, kMaxChoices));
    v("top_logprobs", top_logprobs, "", within(0, kMaxLikeliest));
    v("echo", echo, "");
    v("stream", stream, "");
    v("return_token_ids", return_token_ids, "");
    v("parallel_tool_calls", parallel_tool_calls, "");
    v("add_generation_prompt", add_generation_prompt, "");
  }
};

std::string shortened(const Json& value) {
  constexpr size_t kMaxShown = 80;
  const std::string line = to_line(value);
  return line.size() <= kMaxShown ? line : line.substr(0, kMaxShown) + "...";
}

/// Members of the body. Those that are null or ignored count as absent.
class Body {
 public:
  Body(CompletionKind kind, Json body) {
    if (!body.is_object()) throw user_error("the body: must be a JSON object, not {}", body.type_name());
    std::set<std::string> structured = {"model", "stop", "logit_bias", "stream_options", "logprobs", "response_format"};
    structured.merge(kind == CompletionKind::kText
                         ? std::set<std::string>{"prompt"}
                         : std::set<std::string>{"messages", "tools", "tool_choice", "chat_template_kwargs"});
    for (auto& [key, value] : body.get_ref<Json::object_t&>()) {
      if (value.is_null() || ignored_fields().contains(key)) continue;
      const auto refused = std::ranges::find(unsupported_fields(), key, &UnsupportedField::key);
      if (refused == unsupported_fields().end())
        (structured.contains(key) ? structured_ : scalars_)[key] = std::move(value);
      else if (std::ranges::find(refused->values_without_effect, value) == refused->values_without_effect.end())
        throw user_error("{} = {}: {}", key, shortened(value), refused->rule);
    }
  }

  /// Returns a member; null if absent.
  const Json& operator[](const char* key) const {
    static const Json null;
    const auto found = structured_.find(key);
    return found == structured_.end() ? null : *found;
  }
  const Json& scalars() const { return scalars_; }

 private:
  Json structured_ = Json::object(), scalars_ = Json::object();
};

[[noreturn]] void fail_type(const std::string& key, const Json& value, const char* wanted) {
  throw user_error("{} = {}: must be {}", key, shortened(value), wanted);
}

std::vector<std::string> parse_stops(const Json& value) {
  std::vector<std::string> stops;
  for (const Json& stop : value.is_array() ? value : Json::array({value})) {
    if (!stop.is_string() || stop.get_ref<const std::string&>().empty())
      fail_type("stop", value, "a text, or a list of non-empty texts");
    stops.push_back(stop);
  }
  if (stops.size() > kMaxStops) throw user_error("stop: has {} texts; at most {} are allowed", stops.size(), kMaxStops);
  size_t bytes = 0;
  for (const std::string& stop : stops) bytes += stop.size();
  if (bytes > kMaxStopBytes) throw user_error("stop: has {} bytes; at most {} are allowed", bytes, kMaxStopBytes);
  return stops;
}

std::map<int64_t, double> parse_biases(const Json& value, int64_t vocab_size) {
  if (!value.is_object()) fail_type("logit_bias", value, "an object of token ids and numbers");
  std::map<std::string, double> by_text;
  for (const auto& [token, bias] : value.items()) {
    if (!bias.is_number()) fail_type("logit_bias." + token, bias, "a number");
    by_text[token] = bias.get<double>();
  }
  return token_biases(by_text, vocab_size, "logit_bias");
}

bool parse_usage(const Json& options) {
  if (options.is_null()) return false;
  if (!options.is_object()) fail_type("stream_options", options, "an object");
  bool with_usage = false;
  for (const auto& [key, value] : options.items()) {
    if (key != "include_usage" && key != "include_obfuscation")
      throw user_error("stream_options.{}: is not a known field; the field is include_usage", key);
    if (!value.is_boolean()) fail_type("stream_options." + key, value, "true or false");
    with_usage |= key == "include_usage" && value.get<bool>();
  }
  return with_usage;
}

/// Reads `logprobs`: true or false for a chat, with top_logprobs; the number of likeliest tokens for a text.
void read_log_probs(const Json& value, int64_t top_logprobs, const ServedModel& model, CompletionRequest& request) {
  const bool is_chat = request.kind == CompletionKind::kChat;
  if (top_logprobs > 0 && (!is_chat || value != Json(true)))
    throw user_error("top_logprobs = {}: {}", top_logprobs,
                     is_chat ? "needs logprobs: true" : "is for chats; for texts, logprobs is the number");
  request.num_likeliest = top_logprobs;
  request.with_log_probs = !value.is_null();
  if (value.is_boolean()) {
    request.with_log_probs = value.get<bool>();
  } else if (!value.is_null()) {
    const bool is_number = !is_chat && value.is_number_integer() && value >= 0 && value <= kMaxLikeliest;
    if (!is_number) fail_type("logprobs", value, is_chat ? "true or false" : "a whole number from 0 to 20");
    request.num_likeliest = value.get<int64_t>();
  }
  // Without token scores, 1 is answered like 0: the sampled tokens only, without top_logprobs.
  if (!model.scores_tokens && !is_chat && request.num_likeliest == 1) request.num_likeliest = 0;
  if (request.echoes && is_chat) throw UserError("echo = true: is not supported for chats; use /v1/completions");
  if (!model.scores_tokens && request.needs_scores())
    throw user_error("{}: only log-probs of sampled tokens are available here; leave it out",
                     request.num_likeliest == 0 ? "echo with logprobs"
                     : is_chat                  ? "top_logprobs"
                                                : "logprobs above 0");
}

/// Returns the token ids; nullopt if an element is no integer.
std::optional<std::vector<int64_t>> parse_ids(const Json& list) {
  std::vector<int64_t> ids;
  for (const Json& id : list) {
    if (!id.is_number_integer()) return {};
    ids.push_back(id.is_number_unsigned() && id.get<uint64_t>() > INT64_MAX ? INT64_MAX : id.get<int64_t>());
  }
  return ids;
}

/// Refuses a text that cannot fit, before tokenising it takes time and memory.
void check_text_size(const char* key, const std::string& text, const ServedModel& model) {
  constexpr size_t kMaxMeanTokenBytes = 64;  // mean over the text
  if (text.size() > kMaxMeanTokenBytes * static_cast<size_t>(model.max_length))
    throw user_error("{}: has {} bytes, more than {} tokens can hold", key, text.size(), model.max_length);
}

void read_prompts(const Json& prompt, const ServedModel& model, CompletionRequest& request) {
  constexpr const char* kWanted = "a text, a list of texts, a list of token ids, or a list of such lists";
  const auto add = [&](const Json& value) {
    if (value.is_string()) {
      check_text_size("prompt", value.get_ref<const std::string&>(), model);
      request.texts.push_back(value.get<std::string>());
      request.prompts.push_back(model.tokenizer.encode(request.texts.back()));
      return;
    }
    auto ids = value.is_array() && !value.empty() ? parse_ids(value) : std::nullopt;
    if (!ids) fail_type("prompt", prompt, kWanted);
    request.prompts.push_back(*std::move(ids));
  };
  if (prompt.is_null()) throw user_error("prompt: is missing; give {}", kWanted);
  if (prompt.is_string() || (prompt.is_array() && !prompt.empty() && prompt.front().is_number())) return add(prompt);
  if (!prompt.is_array() || prompt.empty()) fail_type("prompt", prompt, kWanted);
  if (prompt.size() > kMaxPrompts)
    throw user_error("prompt: has {} prompts; at most {} are allowed", prompt.size(), kMaxPrompts);
  for (const Json& value : prompt) add(value);
}

std::string joined_text(const std::string& key, const Json& parts) {
  std::string text;
  for (const Json& part : parts) {
    if (!part.is_object() || part.value("type", Json()) != "text" || !part.contains("text") ||
        !part["text"].is_string())
      fail_type(key, part, "{\"type\": \"text\", \"text\": \"...\"}; only text is supported");
    text += part["text"].get_ref<const std::string&>();
  }
  return text;
}

/// Parses the arguments of calls, which clients send as text: templates write them as JSON.
void parse_arguments(const std::string& key, Json& calls) {
  if (!calls.is_array()) fail_type(key, calls, "a list of calls");
  for (size_t i = 0; i < calls.size(); ++i) {
    const std::string at = fmt::format("{}[{}].function", key, i);
    const bool is_call = calls[i].is_object() && calls[i].contains("function") && calls[i]["function"].is_object();
    if (!is_call) fail_type(at, calls[i], "an object {name, arguments}");
    Json& function = calls[i]["function"];
    if (!function.contains("name") || !function["name"].is_string()) fail_type(at + ".name", function, "a text");
    if (function.contains("arguments") && function["arguments"].is_string())
      function["arguments"] = parse_json(function["arguments"].get<std::string>(), at + ".arguments");
  }
}

Json read_messages(Json messages) {
  constexpr const char* kWanted = "a non-empty list of {role, content}";
  if (!messages.is_array() || messages.empty()) fail_type("messages", messages, kWanted);
  for (size_t i = 0; i < messages.size(); ++i) {
    const std::string key = fmt::format("messages[{}]", i);
    Json& message = messages[i];
    if (!message.is_object()) fail_type(key, message, "an object {role, content}");
    if (!message.contains("role") || !message["role"].is_string()) fail_type(key + ".role", message, "a text");
    const bool has_calls = message.contains("tool_calls") && !message["tool_calls"].is_null();
    if (has_calls) parse_arguments(key + ".tool_calls", message["tool_calls"]);
    const Json content = message.contains("content") ? message["content"] : Json();
    if (content.is_null() && !has_calls) throw user_error("{}.content: is missing; give a text", key);
    if (content.is_null()) message["content"] = "";
    if (content.is_array()) message["content"] = joined_text(key + ".content", content);
    if (!content.is_null() && !content.is_array() && !content.is_string())
      fail_type(key + ".content", content, "a text, or a list of text parts");
  }
  return messages;
}

/// Returns true if tools may be called, and adds them to the template's variables.
bool read_tools(const Body& body, Json& variables) {
  const Json &tools = body["tools"], &choice = body["tool_choice"];
  const bool requires_one = choice == "required" || choice.is_object();
  if (!choice.is_null() && choice != "auto" && choice != "none" && !requires_one)
    throw user_error("tool_choice = {}: must be auto, none, required or {{type, function: {{name}}}}",
                     shortened(choice));
  if (requires_one && (!tools.is_array() || tools.empty()))
    throw user_error("tool_choice: needs tools; give them, or leave tool_choice out");
  if (tools.is_null()) return false;
  if (!tools.is_array()) fail_type("tools", tools, "a list of {type, function}");
  for (size_t i = 0; i < tools.size(); ++i)
    if (!tools[i].is_object() || tools[i].value("type", Json("function")) != "function" ||
        !tools[i].contains("function") || !tools[i]["function"].is_object())
      fail_type(fmt::format("tools[{}]", i), tools[i], "{\"type\": \"function\", \"function\": {...}}");
  if (tools.empty() || choice == "none") return false;
  variables["tools"] = tools;
  return true;
}

/// Returns the tools that a required call may use; empty if no call is required.
Json required_tools(const Json& tools, const Json& choice) {
  if (choice == "required") return tools;
  if (!choice.is_object()) return Json::array();
  const Json function = choice.value("function", Json());
  for (const Json& tool : tools)
    if (function.is_object() && function.contains("name") && tool["function"].value("name", Json()) == function["name"])
      return Json::array({tool});
  throw user_error("tool_choice = {}: must be {{type, function: {{name}}}} with the name of one of the tools",
                   shortened(choice));
}

void read_chat(const Body& body, bool add_generation_prompt, const ServedModel& model, CompletionRequest& request) {
  if (!model.chat_template)
    throw UserError("this model has no chat template; use /v1/completions, or start the server with --template");
  Json variables = body["chat_template_kwargs"].is_null() ? Json::object() : body["chat_template_kwargs"];
  if (!variables.is_object()) fail_type("chat_template_kwargs", variables, "an object");
  request.has_tools = read_tools(body, variables);
  request.messages = read_messages(body["messages"]);
  const std::string prompt = model.chat_template->render(request.messages, add_generation_prompt, variables);
  const Json required = request.has_tools ? required_tools(body["tools"], body["tool_choice"]) : Json::array();
  if (!required.empty() && request.sampling.constraint)
    throw UserError("tool_choice: a required call cannot be combined with response_format; leave one out");
  if (!required.empty()) require_call(required, prompt, model, request);
  request.variables = std::move(variables);
  check_text_size("messages", prompt, model);
  request.prompts = {model.tokenizer.encode(prompt, true, false)};  // the template writes the special tokens itself
}

void check_prompts(const CompletionRequest& request, const ServedModel& model) {
  const char* const key = request.kind == CompletionKind::kChat ? "messages" : "prompt";
  for (const auto& ids : request.prompts) {
    if (ids.empty()) throw user_error("{}: has no token; give at least one", key);
    if (std::ssize(ids) >= model.max_length)
      throw user_error("{}: has {} tokens; at most {} leave room for a response", key, ids.size(),
                       model.max_length - 1);
    const auto unknown = std::ranges::find_if(ids, [&](int64_t id) { return id < 0 || id >= model.vocab_size; });
    if (unknown != ids.end())
      throw user_error("{}: holds token id {}, but the model has only ids 0..{}", key, *unknown, model.vocab_size - 1);
  }
}

/// Limits the size of an answer that echoes its prompts n times.
void check_echo(const CompletionRequest& request) {
  int64_t num_echoed = 0;
  for (const auto& ids : request.prompts)
    num_echoed += std::ssize(ids) * request.num_choices * (1 + request.num_likeliest);
  if (request.echoes && num_echoed > kMaxEchoedTokens)
    throw user_error("echo: tokens of all prompts x n x (1 + logprobs) are {}; at most {} are allowed", num_echoed,
                     kMaxEchoedTokens);
}

void check_model(const Json& name, const ServedModel& model) {
  if (name.is_null()) return;
  if (!name.is_string()) fail_type("model", name, "a text");
  if (name != model.name)
    throw UnknownModel(fmt::format("model = {}: is not served here; use {}", shortened(name), model.name));
}

}  // namespace

CompletionRequest read_completion(CompletionKind kind, Json json, const ServedModel& model) {
  const Body body(kind, std::move(json));
  check_model(body["model"], model);
  Fields fields;
  read_json_fields(body.scalars(), fields);
  const auto token_limit = fields.max_completion_tokens ? fields.max_completion_tokens : fields.max_tokens;
  fields.sampling.max_new_tokens = token_limit.value_or(kind == CompletionKind::kText ? kTextTokens : model.max_length);
  CompletionRequest request{.kind = kind,
                            .prompts = {},
                            .num_choices = fields.n,
                            .sampling = sampling_settings(fields.sampling),
                            .seed = fields.seed,
                            .streams = fields.stream,
                            .with_usage = parse_usage(body["stream_options"]),
                            .with_token_ids = fields.return_token_ids,
                            .echoes = fields.echo,
                            .calls_one = !fields.parallel_tool_calls,
                            .given = body.scalars()};
  read_log_probs(body["logprobs"], fields.top_logprobs, model, request);
  if (!body["stop"].is_null()) request.sampling.stop_strings = parse_stops(body["stop"]);
  if (!body["logit_bias"].is_null()) request.sampling.logit_bias = parse_biases(body["logit_bias"], model.vocab_size);
  if (!body["response_format"].is_null()) read_response_format(body["response_format"], model, request);
  if (kind == CompletionKind::kText)
    read_prompts(body["prompt"], model, request);
  else
    read_chat(body, fields.add_generation_prompt, model, request);
  check_prompts(request, model);
  check_echo(request);
  return request;
}

}  // namespace roll
