// Messages as rows hold them, in the one shape that templates read.
#pragma once

#include <functional>
#include <string>

#include "base/json.h"

namespace roll {

/// template_message() (base/chat_message.h), where ShareGPT's {from, value} is {role, content}.
Json normal_message(const Json& message);

/// A list of messages to learn from, each made normal; a string is parsed as JSON first. A content is a text or a list
/// of text parts; an assistant that calls tools needs none. UserError "origin: column[i]...": another shape, no
/// message.
Json parse_chat(const Json& value, const std::string& origin, const std::string& column);

/// A message's text; its parts one behind the other, "" where it only calls tools.
std::string content_text(const Json& message);

bool is_assistant(const Json& message);
/// A message of the role system, or developer, as OpenAI's newer models call it.
bool is_system(const Json& message);

/// Equality that does not ask for the order of keys.
bool is_same(const Json& a, const Json& b);

/// True where `chat` begins with all of `beginning`.
bool starts_with(const Json& chat, const Json& beginning);

/// Those in [begin, end).
Json some_messages(const Json& chat, size_t begin, size_t end);

Json joined(Json chat, const Json& more);

/// A template gets these of a row, beside its messages: the schemas in its column tools, and all that its column
/// chat_template_kwargs holds. UserError "origin: ...": one of another shape.
Json template_variables(const Json& row, const std::string& origin);

/// A conversation rendered with a row's variables. UserError "origin: ...": the template's; it does not show the row's
/// tools.
std::string render_row(const std::function<std::string(const Json& variables)>& render, const Json& variables,
                       const std::string& origin);

}  // namespace roll
