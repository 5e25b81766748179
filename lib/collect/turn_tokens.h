// Tokens of the messages between two turns of a model (the answers of an environment or agent, as the chat template
// writes them), for TurnSource and AgentSessions. Sampled tokens are never decoded and tokenized again: in the rendered
// conversation, fixed texts replace the model's turns, and only the text after the last one is tokenized. The
// template must leave the turns unchanged.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace roll {

/// Returns the template variables {"tools": tools}, or {} if `tools` is null. `tools`: list of tool schemas.
Json tool_variables(const Json& tools);

class TurnTokens {
 public:
  /// `tokenizer` must outlive this object.
  TurnTokens(ChatTemplate chat_template, const Tokenizer& tokenizer);

  /// Checks that the template suits conversations of several turns; call it before sampling. `role`: role of the
  /// messages between turns, "user" or "tool". `tools`: schemas of the tools that the prompt must show; null: none.
  /// Throws UserError if the template changes an earlier turn or message (the error names the first difference), or
  /// leaves out the messages between turns or a tool. A template may trim blanks of turns: sampled tokens keep them.
  /// Tries turns with and without reasoning, as far as the text that begins a turn allows both. If the template shows
  /// tool answers only after a tool call, tries a turn with a call.
  void check(const char* role, const Json& tools) const;

  /// A conversation without the model's own turns.
  struct PastConversation {
    const Json& opening_messages;      // messages before the model's first turn
    const Json& variables;             // template variables, with tools if there are any
    const std::vector<Json>& answers;  // one list of messages for each pair of consecutive turns so far
  };
  /// Returns the tokens between the model's last turn and its next one: the end of the turn, the messages, and the text
  /// that begins the next turn. `answer`: list of messages that follow the last turn. `last_id`: last token of that
  /// turn; if it is an end token, the result does not repeat it. Throws UserError as check() does.
  std::vector<int64_t> tokens_between(const PastConversation& before, Json answer, int64_t last_id) const;

  /// Returns the tokens of a whole prompt: `messages`, and the text that begins the model's turn.
  std::vector<int64_t> prompt(const Json& messages) const;
  /// Returns `text`, changed if necessary so that it spells no special token.
  std::string disarmed(const std::string& text) const { return tokenizer_.disarmed(text); }

 private:
  /// Stand-in for any sampled turn: the message for the template, and the text that the model would sample.
  struct StandIn {
    Json message;
    std::string text;
  };
  static StandIn plain_stand_in();
  std::string text_after_turn(Json messages, const StandIn& turn, const Json& answer, const Json& variables) const;
  std::optional<StandIn> rendered_stand_in(const Json& message, const Json& variables) const;
  std::optional<StandIn> thinking_stand_in(const Json& variables) const;
  std::string text_between(const PastConversation& before, const Json& answer, const StandIn& turn) const;
  std::string text_between(const PastConversation& before, const Json& answer) const;
  bool shows_answer(bool calls) const;
  std::string text_after_calls(const PastConversation& before, const Json& answer) const;

  ChatTemplate template_;
  const Tokenizer& tokenizer_;
  const bool needs_calls_;  // the template shows tool answers only after a turn with tool calls
};

}  // namespace roll
