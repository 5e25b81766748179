// Tokens between two turns of a model, for TurnSource and AgentSessions: an environment's answer in the chat template.
// Sampled tokens are never decoded and tokenized again: the text after a turn is rendered after a stand-in for it,
// which the template must leave unchanged.
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

/// Returns the template's variables for the tools; none if `tools` is null.
Json tool_variables(const Json& tools);

class TurnTokens {
 public:
  TurnTokens(ChatTemplate chat_template, const Tokenizer& tokenizer);

  /// Checks that the template keeps earlier turns. `role`: of the messages between turns, user or tool. `tools`: their
  /// schemas; null: not shown. UserError: the template changes earlier text (names the first difference), or leaves out
  /// the messages or the tools. Trimming turns is fine: sampled tokens keep their blanks. Tries the turns that can be
  /// sampled after the template's opening: with a thought, unless it has closed one, and without, unless it has opened
  /// one. If tool answers appear only after a turn with tool calls, tries such a turn.
  void check(const char* role, const Json& tools) const;

  /// The conversation before a turn, without the model's own turns.
  struct PastConversation {
    const Json& opening_messages;      // messages before its first turn
    const Json& variables;             // template variables, with tools if there are any
    const std::vector<Json>& answers;  // messages between turns, one list per gap
  };
  /// Returns the tokens from the end of the model's turn to its next one, with the messages `answer` between.
  /// `last_id`: last token of the turn, possibly the template's end token. UserError: see check().
  std::vector<int64_t> tokens_between(const PastConversation& before, Json answer, int64_t last_id) const;

  /// Returns the prompt of a turn with its own context: `messages` and the generation prompt.
  std::vector<int64_t> prompt(const Json& messages) const;
  /// Returns `text` changed so that it spells no special token.
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
