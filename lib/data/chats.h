// Brings chat messages of data rows into the form that chat templates read: {role, content, ...}. A message is a JSON
// object, a chat a JSON array of messages. `origin` ("file:line") begins the text of errors.
#pragma once

#include <functional>
#include <string>

#include "base/json.h"

namespace roll {

/// Returns template_message(message) (base/chat_message.h), with ShareGPT's keys {from, value} renamed to {role,
/// content}.
Json normal_message(const Json& message);

/// Parses `value`, the content of the column named `column`, as a chat to train on, and normalises each message; a
/// string is parsed as JSON first. content must be a string or a list of text parts; it may be missing in a message
/// with tool calls. Throws UserError "origin: column[i]..." if the chat is malformed or has no messages.
Json parse_chat(const Json& value, const std::string& origin, const std::string& column);

/// Returns the text of a message, concatenated from its text parts if there are several; "" without content.
std::string content_text(const Json& message);

/// Returns true for the role assistant. The message must have a role.
bool is_assistant(const Json& message);
/// Returns true for the roles system and developer (OpenAI's newer name). The message must have a role.
bool is_system(const Json& message);

/// Compares any two JSON values without regard to the order of keys in objects.
bool is_same(const Json& a, const Json& b);

/// Returns true if `chat` begins with all of `beginning`.
bool starts_with(const Json& chat, const Json& beginning);

/// Returns the messages with indices in [begin, end), as a chat.
Json slice_messages(const Json& chat, size_t begin, size_t end);

/// Returns `chat` followed by the messages of `added`.
Json join_messages(Json chat, const Json& added);

/// Returns a JSON object with the row's variables for the chat template: `tools`, the schemas in the row's column
/// tools, and everything in the row's column chat_template_kwargs; {} if it has neither. Throws UserError "origin: ..."
/// if a column is malformed.
Json template_variables(const Json& row, const std::string& origin);

/// Returns render(variables), the text of a conversation. `variables`: template_variables(). If it has tools, renders
/// again without them to check that the template shows them. Throws UserError "origin: ..." if the template fails or
/// ignores the tools.
std::string render_row(const std::function<std::string(const Json& variables)>& render, const Json& variables,
                       const std::string& origin);

}  // namespace roll
