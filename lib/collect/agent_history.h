// What was said in a session of an agent, and where in it a request goes on: nothing that was sampled becomes text and
// tokens again, so a request must hold what was said before as it was, and only what it adds becomes tokens.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "collect/turn_tokens.h"
#include "environment/tool_calls.h"
#include "records/agent_turn.h"
#include "serve/completion_request.h"

namespace roll {

/// All that was said up to the end of a turn of the model's; the first node: before any.
struct AgentNode {
  Json messages{};                    // of a chat
  Json variables{};                   // of its template
  std::vector<Json> answers{};        // lists of messages, between turns
  std::optional<std::string> text{};  // of a text
  AgentTurn so_far{};
  std::map<std::vector<int64_t>, int64_t> num_draws{};  // by the tokens between it and the turn
};

/// Behind which node a turn is drawn.
struct AgentPlace {
  size_t node = 0;
  Json added = Json::array();      // messages
  std::vector<int64_t> between{};  // their tokens
};

/// Before the first turn.
AgentNode first_node(const CompletionRequest& request);

/// Where a request of a session goes on that has such nodes. UserError: it tells otherwise what was said before, and
/// where it first differs; it adds nothing; as TurnTokens::behind().
AgentPlace place_of(const std::vector<AgentNode>& nodes, const CompletionRequest& request, const TurnTokens& tokens,
                    const Tokenizer& tokenizer);

/// Once the model has said `text` there.
AgentNode next_node(const AgentNode& before, const AgentPlace& place, const CompletionRequest& request,
                    const std::string& text, ToolCallForm form);

}  // namespace roll
