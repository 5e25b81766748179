// Normalizes the messages of data rows into the form that chat templates read.
#pragma once

#include <functional>
#include <string>

#include "base/json.h"

namespace roll {

/// Applies template_message() (base/chat_message.h) and renames ShareGPT's {from, value} to {role, content}.
Json normal_message(const Json& message);

/// Parses a conversation to train on and normalizes each message; a string is parsed as JSON first. content must be a
/// string or a list of text parts; it may be missing in a message with tool calls. UserError "origin: column[i]...":
/// malformed or empty.
Json parse_chat(const Json& value, const std::string& origin, const std::string& column);

/// Returns a message's text with its parts concatenated; "" if it has only tool calls.
std::string content_text(const Json& message);

bool is_assistant(const Json& message);
/// Returns true for the roles system and developer (OpenAI's newer name).
bool is_system(const Json& message);

/// Compares without regard to the order of keys.
bool is_same(const Json& a, const Json& b);

/// Returns true if `chat` begins with all of `beginning`.
bool starts_with(const Json& chat, const Json& beginning);

/// Returns the messages in [begin, end).
Json slice_messages(const Json& chat, size_t begin, size_t end);

/// Returns the concatenation of two message lists.
Json join_messages(Json chat, const Json& added);

/// Returns a row's template variables: the schemas in its column tools, and everything in its column
/// chat_template_kwargs. UserError "origin: ...": a column is malformed.
Json template_variables(const Json& row, const std::string& origin);

/// Renders a conversation with a row's variables. UserError "origin: ...": the template fails, or ignores the row's
/// tools.
std::string render_row(const std::function<std::string(const Json& variables)>& render, const Json& variables,
                       const std::string& origin);

}  // namespace roll
