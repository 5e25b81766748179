#include "data/row_forms.h"

#include <algorithm>
#include <vector>

#include "base/chat_message.h"
#include "base/error.h"
#include "base/trim.h"
#include "data/chats.h"
#include "data/columns.h"
#include "data/prompt_columns.h"

namespace roll {

namespace {

Json make_message(const char* role, const std::string& text) {
  return {{"role", role}, {"content", text}};
}

const Json& filled_column(const Row& row, const std::string& name) {
  const Json* value = find_column(row.raw, name);
  if (!value || value->is_null()) throw user_error("{}: the row has no column '{}' for a response", row.origin, name);
  if (!value->is_string() && !value->is_array())
    throw wrong_column(row.origin, name, *value, "a text or a list of messages");
  return *value;
}

/// Converts a response column to messages; a text becomes an assistant message.
Json response_chat(const Row& row, const std::string& name, const Json& value) {
  const Json chat = value.is_string() ? Json::array({make_message("assistant", value.get<std::string>())})
                                      : parse_chat(value, row.origin, name);
  const Json& last = chat.back();
  if (!is_assistant(last))
    throw user_error("{}: {}: its last message has the role '{}'; a response must end with an assistant message",
                     row.origin, name, last["role"].get<std::string>());
  if (last.contains("content") && content_text(last).empty() && !last.contains("tool_calls"))
    throw user_error("{}: {}: is empty; a response to learn needs text", row.origin, name);
  return chat;
}

/// Returns the messages of `chat` after `prompt`, if it begins with that.
Json after_prompt(const Row& row, const std::string& name, const Json& prompt, const Json& chat) {
  if (starts_with(chat, prompt) && chat.size() > prompt.size()) return slice_messages(chat, prompt.size(), chat.size());
  const std::string role = chat[0]["role"].get<std::string>();
  if (is_assistant(chat[0]) || role == "tool" || is_assistant(prompt.back())) return chat;
  throw user_error(
      "{}: {}: begins with messages that differ from the prompt, so one of the two columns is wrong; remove the prompt "
      "column if these messages contain the prompt, or remove these messages",
      row.origin, name);
}

void require_text(const Row& row, const std::string& name, const Json& value) {
  if (value.get_ref<const std::string&>().empty())
    throw user_error("{}: {}: is empty; a response to learn needs text", row.origin, name);
}

/// Rejects template variables: raw text is rendered without a template.
void require_no_variables(const Row& row) {
  for (const char* name : {"tools", "chat_template_kwargs"})
    if (const Json* value = column(row.raw, name); value && !template_variables(row.raw, row.origin).empty())
      throw user_error(
          "{}: {}: is for a chat template, but this row's prompt is raw text; make the prompt a list of messages, or "
          "remove the column",
          row.origin, name);
}

// ---- fine-tuning

struct Response {
  std::string name;
  const Json* value = nullptr;
};

Response find_response(const Row& row, const std::optional<std::string>& name) {
  if (name) {
    const Json* value = find_column(row.raw, *name);
    if (!value || value->is_null())
      throw user_error("{}: the row has no column '{}' for its response", row.origin, *name);
    return {*name, value};
  }
  Response found;
  std::vector<const char*> names{"response", "completion"};
  if (row.raw.contains("instruction")) names.push_back("output");  // Alpaca's
  for (const char* candidate : names)
    if (const Json* value = column(row.raw, candidate)) {
      if (found.value)
        throw user_error("{}: has the columns {} and {}; name the one to learn in data_args.response", row.origin,
                         found.name, candidate);
      found = {candidate, value};
    }
  return found;
}

/// Adds the reasoning from a separate column to the response.
void add_reasoning(const Row& row, Json& message) {
  for (const char* name : kReasoningKeys)
    if (const std::string text = string_column(row.raw, name, row.origin); !text.empty()) {
      message[name] = text;
      message = normal_message(message);
      return;
    }
}

SftForm raw_form(const Row& row, const std::string& prompt, const Response& response) {
  require_no_variables(row);
  for (const char* name : kReasoningKeys)
    if (column(row.raw, name))
      throw user_error(
          "{}: {}: cannot be used with a raw prompt; write the text into {}, or name the prompt in data_args.question",
          row.origin, name, response.name);
  return {.prompt_text = prompt, .completion_text = response.value->get<std::string>()};
}

SftForm answered_form(const Row& row, const PromptColumns& prompt_columns, const Response& response) {
  const bool is_text = response.value->is_string();
  if (!is_text && !response.value->is_array())
    throw user_error("{}: {} = {}: must be a string or a list of messages, not {}", row.origin, response.name,
                     to_line(*response.value).substr(0, 60), response.value->type_name());
  if (is_text) require_text(row, response.name, *response.value);
  if (prompt_columns.messages && is_assistant(prompt_columns.messages->chat.back()))
    throw user_error("{}: {} end with an answer, and the column {} has one, too; remove one of the two", row.origin,
                     prompt_columns.messages->name, response.name);
  const std::optional<Json> prompt = prompt_columns.prompt_chat(!is_text);
  if (!prompt) return raw_form(row, prompt_columns.text->text, response);
  Json chat = response_chat(row, response.name, *response.value);
  if (is_text) add_reasoning(row, chat.back());
  return {.prompt = *prompt,
          .completion = after_prompt(row, response.name, *prompt, chat),
          .variables = template_variables(row.raw, row.origin)};
}

SftForm text_form(const Row& row) {
  const Json& text = row.raw["text"];
  if (!text.is_string()) throw wrong_column(row.origin, "text", text, "a string");
  require_text(row, "text", text);
  require_no_variables(row);
  return {.learnt = Learnt::kAll, .completion_text = text.get<std::string>()};
}

SftForm bare_sft_form(const Row& row, const SftColumns& columns) {
  const PromptColumns prompt_columns = find_prompt_columns(row, columns.prompt, LearntRows::kResponses);
  const Response response = find_response(row, columns.response);
  const bool may_be_text = !columns.prompt.names_prompt() && column(row.raw, "text");
  if (may_be_text && (!prompt_columns.is_empty() || response.value))
    throw user_error(
        "{}: has a column text, which is trained on unchanged, beside {}; remove one column, or name the prompt's "
        "column in data_args.messages, data_args.question or data_args.prompt",
        row.origin, prompt_columns.is_empty() ? response.name : prompt_columns.list_names());
  if (may_be_text) return text_form(row);
  if (prompt_columns.is_empty()) throw no_prompt(row, columns.prompt);
  prompt_columns.require_agreement(row, response.value != nullptr);
  if (response.value) return answered_form(row, prompt_columns, response);
  const ColumnChat* chat = prompt_columns.messages ? &*prompt_columns.messages
                           : prompt_columns.prompt ? &*prompt_columns.prompt
                                                   : nullptr;
  if (!chat) throw user_error("{}: the row has no column 'response' or 'completion'", row.origin);
  if (std::none_of(chat->chat.begin(), chat->chat.end(), is_assistant))
    throw user_error(
        "{}: {} have no assistant message, and the row has no column 'response' or 'completion'; there is nothing to "
        "learn",
        row.origin, chat->name);
  return {.learnt = Learnt::kTurns, .prompt = chat->chat, .variables = template_variables(row.raw, row.origin)};
}

}  // namespace

SftForm sft_form(const Row& row, const SftColumns& columns) {
  SftForm form = bare_sft_form(row, columns);
  if (!columns.prompt.dresses_prompts()) return form;
  if (form.is_chat())
    dress_messages(form.prompt, columns.prompt, row.origin);
  else if (form.learnt == Learnt::kAll)
    throw user_error(
        "{0}: text: is trained on unchanged, so it has no prompt to which data_args.{1} could be added; remove "
        "data_args.{1} from the configuration, or give the row a prompt column",
        row.origin, columns.prompt.system ? "system" : "prompt_template");
  else
    form.prompt_text = dressed_text(form.prompt_text, columns.prompt, row.origin);
  return form;
}

// ---- preferences

namespace {

/// Returns the number of common leading messages; like TRL, all but the last if nothing differs.
size_t common_messages(const Json& chosen, const Json& rejected) {
  const size_t shorter = std::min(chosen.size(), rejected.size());
  for (size_t i = 0; i < shorter; ++i)
    if (!is_same(chosen[i], rejected[i])) return i;
  return shorter - 1;
}

Json without_system(const Json& chat) {
  size_t begin = 0;
  while (begin < chat.size() && is_system(chat[begin])) ++begin;
  return slice_messages(chat, begin, chat.size());
}

/// Checks the prompt columns against `prompt`, which was found in the responses.
void require_prompt(const Row& row, const PromptColumns& prompt_columns, const PairColumns& columns, const Json& prompt,
                    const Json& chosen) {
  const auto refuse = [&](const std::string& name, bool has_more_turns) {
    throw user_error(
        "{}: {}: {} begins with {}, so one of the two columns is wrong; remove {} if the responses contain the whole "
        "prompt",
        row.origin, name, columns.chosen, has_more_turns ? "more turns than this prompt" : "a different prompt", name);
  };
  if (prompt_columns.prompt && !is_same(prompt_columns.prompt->chat, prompt))
    refuse(prompt_columns.prompt->name, starts_with(prompt, prompt_columns.prompt->chat));
  const Json question = without_system(prompt);
  for (const auto* text : {&prompt_columns.question, &prompt_columns.text})
    if (*text) {
      const bool is_first_question = !question.empty() && is_question(question[0], (*text)->text);
      if (!is_first_question || question.size() != 1) refuse((*text)->name, is_first_question);
    }
  if (prompt_columns.messages && !is_same(prompt_columns.messages->chat, prompt) &&
      !is_same(prompt_columns.messages->chat, chosen))
    throw user_error(
        "{}: {}: are neither the prompt of {} nor the whole conversation, so one of the two columns is wrong; remove "
        "{}",
        row.origin, prompt_columns.messages->name, columns.chosen, prompt_columns.messages->name);
}

/// Returns the prompt of the columns, for responses that do not contain it.
Json explicit_prompt(const Row& row, const PromptColumns& prompt_columns, const std::string& name, const Json& chosen) {
  Json prompt = *prompt_columns.prompt_chat(/*is_chat=*/true);
  if (!prompt_columns.messages || !is_assistant(prompt.back())) return prompt;
  const size_t length = prompt.size() - std::min(prompt.size(), chosen.size());
  const Json prompt_only = slice_messages(prompt, 0, length);
  if (prompt_only.empty() || !is_same(join_messages(prompt_only, chosen), prompt))
    throw user_error(
        "{}: {} end with an answer that differs from {}; remove that message, or remove the column if {} contains the "
        "prompt",
        row.origin, prompt_columns.messages->name, name, name);
  return prompt_only;
}

PairForm chat_pair(const Row& row, const PromptColumns& prompt_columns, const PairColumns& columns) {
  PairForm form{.chosen = response_chat(row, columns.chosen, filled_column(row, columns.chosen)),
                .rejected = response_chat(row, columns.rejected, filled_column(row, columns.rejected)),
                .variables = template_variables(row.raw, row.origin)};
  const size_t common = common_messages(form.chosen, form.rejected);
  const bool is_in_responses = common > 0 && !is_assistant(form.chosen[0]);
  if (is_in_responses) {
    form.prompt = slice_messages(form.chosen, 0, common);
    require_prompt(row, prompt_columns, columns, form.prompt, form.chosen);
    form.chosen = slice_messages(form.chosen, common, form.chosen.size());
    form.rejected = slice_messages(form.rejected, common, form.rejected.size());
    return form;
  }
  if (prompt_columns.is_empty())
    throw user_error("{}: there is no prompt: the row has no column for it, and {} and {} begin differently",
                     row.origin, columns.chosen, columns.rejected);
  prompt_columns.require_agreement(row, /*is_answered=*/true);
  form.prompt = explicit_prompt(row, prompt_columns, columns.chosen, form.chosen);
  form.chosen = after_prompt(row, columns.chosen, form.prompt, form.chosen);
  form.rejected = after_prompt(row, columns.rejected, form.prompt, form.rejected);
  return form;
}

PairForm text_pair(const Row& row, const PromptColumns& prompt_columns, const PairColumns& columns) {
  require_no_variables(row);
  PairForm form{.chosen = filled_column(row, columns.chosen), .rejected = filled_column(row, columns.rejected)};
  require_text(row, columns.chosen, form.chosen);
  require_text(row, columns.rejected, form.rejected);
  if (prompt_columns.text) {
    form.prompt = dressed_text(prompt_columns.text->text, columns.prompt, row.origin);
    return form;
  }
  const std::string chosen = form.chosen.get<std::string>(), rejected = form.rejected.get<std::string>();
  const size_t length = common_prompt(chosen, rejected);
  if (length == 0)
    throw user_error("{}: there is no prompt: the row has no column for it, and {} and {} begin differently",
                     row.origin, columns.chosen, columns.rejected);
  if (columns.prompt.dresses_prompts())
    throw user_error(
        "{}: no column has the prompt, so data_args.{} cannot be added to the common beginning of {} and {}; give the "
        "prompt a column",
        row.origin, columns.prompt.system ? "system" : "prompt_template", columns.chosen, columns.rejected);
  form.prompt = chosen.substr(0, length);
  form.chosen = chosen.substr(length);
  form.rejected = rejected.substr(length);
  return form;
}

}  // namespace

PairForm pair_form(const Row& row, const PairColumns& columns) {
  const PromptColumns prompt_columns = find_prompt_columns(row, columns.prompt, LearntRows::kPairs);
  const bool is_text =
      filled_column(row, columns.chosen).is_string() && filled_column(row, columns.rejected).is_string();
  if (prompt_columns.is_empty() && columns.prompt.names_prompt()) throw no_prompt(row, columns.prompt);
  if (is_text && !prompt_columns.messages && !prompt_columns.prompt && !prompt_columns.question)
    return text_pair(row, prompt_columns, columns);
  PairForm form = chat_pair(row, prompt_columns, columns);
  dress_messages(form.prompt, columns.prompt, row.origin);
  return form;
}

size_t common_prompt(const std::string& chosen, const std::string& rejected) {
  const auto is_inside = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };  // UTF-8 tail byte
  const size_t shorter = std::min(chosen.size(), rejected.size());
  const size_t differs =
      std::mismatch(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(shorter), rejected.begin()).first -
      chosen.begin();
  size_t length = differs;
  const bool is_whole = differs == shorter;
  if (is_whole) --length;
  while (length > 0 && (is_inside(chosen[length]) || (length < rejected.size() && is_inside(rejected[length]))))
    --length;
  if (!is_whole && length > 0 && chosen[length - 1] == ' ') --length;
  return length;
}

}  // namespace roll
