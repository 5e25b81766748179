// The tokens between two turns of a model: what its chat template puts around an environment's answer. Nothing that was
// sampled becomes text and tokens again: what follows a turn is rendered behind a stand-in for it, which a template
// must leave as it is.
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

/// The template's variables that say which tools there are; null: none.
Json tool_variables(const Json& tools);

class TurnTokens {
 public:
  TurnTokens(ChatTemplate chat_template, const Tokenizer& tokenizer);

  /// Whose messages lie between turns: the user's, or those of tools, with their schemas (null: they are not shown).
  /// UserError: a template that changes what was said before, which names the first difference; one that leaves the
  /// messages or the tools out. One that trims turns is taken: what was sampled stays with its blanks. Tried are the
  /// turns that can be sampled behind this template's opening: with a thought, but where it has closed that already,
  /// and without one, but where it has begun it. Where answers of tools show only behind a turn that calls some, it is
  /// that one.
  void check(const char* role, const Json& tools) const;

  /// What was before a turn, beside the model's own turns.
  struct Before {
    const Json& first;                 // messages before its first turn
    const Json& variables;             // of the template, with tools where there are some
    const std::vector<Json>& answers;  // lists of messages, between turns
  };
  /// The tokens from the end of the model's turn to where it speaks again, with a list of messages between.
  /// `last_id`: of the turn, which may be the token that the template ends it with. UserError as check().
  std::vector<int64_t> behind(const Before& before, Json answer, int64_t last_id) const;

  /// The prompt of a turn with a context of its own: these messages and where the model speaks.
  std::vector<int64_t> prompt(const Json& messages) const;
  std::string disarmed(const std::string& text) const { return tokenizer_.disarmed(text); }

 private:
  /// A turn that stands for any: what was sampled, and the message that the template is given for it.
  struct StandIn {
    Json message;
    std::string said;
  };
  static StandIn plain();
  std::string text_behind(Json messages, const StandIn& turn, const Json& answer, const Json& variables) const;
  std::optional<StandIn> written(const Json& message, const Json& variables) const;
  std::optional<StandIn> thoughtful(const Json& variables) const;
  std::string text_between(const Before& before, const Json& answer, const StandIn& turn) const;
  std::string text_between(const Before& before, const Json& answer) const;
  bool shows_answer(bool calls) const;
  std::string text_behind_calls(const Before& before, const Json& answer) const;

  ChatTemplate template_;
  const Tokenizer& tokenizer_;
  const bool needs_calls_;  // answers of tools show only behind a turn that calls some
};

}  // namespace roll
