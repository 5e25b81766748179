// Sessions of agents, with a test on both sides: it asks as an agent, and draws as the sampler.
#pragma once

#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "collect/agent_sessions.h"
#include "error_of.h"
#include "text/chat_template.h"
#include "text/tiny_tokenizer.h"
#include "text/tokenizer.h"

namespace roll::test {

inline Json said_by(const std::string& role, const std::string& content) {
  return {{"role", role}, {"content", content}};
}

inline const Json kGo = said_by("user", "go");

inline Json with(Json body, const Json& more) {
  body.update(more);
  return body;
}

class AskedSessions {
 public:
  EnvironmentConfig config{.max_steps = 3};
  Tokenizer tokenizer =
      Tokenizer::parse(make_byte_level_tokenizer({.words = {}, .more_special_tokens = {}}).dump(), "tiny");
  ChatTemplate chat_template;
  TurnTokens tokens{chat_template, tokenizer};
  ServedModel model{.name = "policy",
                    .tokenizer = tokenizer,
                    .chat_template = &chat_template,
                    .vocab_size = tokenizer.vocab_size(),
                    .max_length = 1000};
  AgentSessions sessions{{.environment = config, .tokens = tokens, .tokenizer = tokenizer, .prompt_length = 200}};
  AgentSessions::Terms terms{.seed = 5, .response_length = 200};

  explicit AskedSessions(ChatTemplate its = ChatTemplate::load("nowhere", "chatml")) : chat_template(std::move(its)) {
    config.env_config.timeout_s = 100;
  }

  std::map<std::string, std::string> takers;  // of sessions, by their ids; absent: ""

  /// One more session, which `who` has taken.
  std::string begin(int64_t number, const std::string& who = "") {
    sessions.begin(number, terms);
    const std::string id = sessions.take(who, std::chrono::milliseconds(0)).value()["id"];
    takers[id] = who;
    return id;
  }

  std::shared_ptr<const CompletionRequest> request(const Json& body) const {
    return std::make_shared<const CompletionRequest>(
        read_completion(body.contains("messages") ? CompletionKind::kChat : CompletionKind::kText, body, model));
  }
  std::shared_ptr<PendingAnswer> ask(const std::string& id, const Json& body) {
    const auto sink = sessions.find(id, takers[id]);
    if (!sink) throw UserError("no such session");
    return sink->submit(request(body));
  }
  std::shared_ptr<PendingAnswer> ask_chat(const std::string& id, const std::vector<Json>& messages) {
    return ask(id, {{"messages", messages}});
  }
  /// The error of a request, or "no error".
  std::string refusal(const std::string& id, const Json& body) {
    return testing::error_of([&] { ask(id, body); });
  }

  /// Draws the turn that waits, as this text; what the sampler was told of it.
  AgentTurn draw(int64_t number, const std::string& text, float log_prob = -1) {
    const TurnAnswer asked = sessions.next(number).value();
    REQUIRE(asked.agent);
    finish(number, *asked.agent, text, FinishReason::kStop, log_prob);
    return *asked.agent;
  }
  void finish(int64_t number, const AgentTurn& turn, const std::string& text, FinishReason reason = FinishReason::kStop,
              float log_prob = -1) {
    Generation said{.ids = turn.ids, .log_probs = turn.log_probs, .processed_log_probs = {}, .finish_reason = reason};
    said.text = text;
    std::vector<Turn> turns = turn.turns;
    for (const int64_t id : ids(text)) said.ids.push_back(id);
    said.log_probs.resize(said.ids.size(), log_prob);
    turns.push_back({.num_tokens = std::ssize(said.ids) - std::ssize(turn.ids)});
    sessions.finish_turn(number, said, turns);
  }

  std::vector<int64_t> ids(const std::string& text) const { return tokenizer.encode(text, true, false); }
  std::string text(const std::vector<int64_t>& ids) const { return tokenizer.decode(ids); }
};

/// What becomes of a turn's answer, at once: its failure, or its whole text.
inline std::string heard(PendingAnswer& answer) {
  try {
    for (const ChoiceNews& news : answer.take(std::chrono::milliseconds(0)))
      if (news.ended) return news.ended->text;
    return "nothing";
  } catch (const Unavailable& failure) {
    return failure.what();
  }
}

}  // namespace roll::test
