// History of an agent session, for AgentSessions: a tree with one node per model turn. Finds the node that a request
// continues. Sampled tokens are never decoded and tokenized again: a request must repeat the earlier conversation
// unchanged; only its new part is tokenized.
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

/// The conversation up to the end of one model turn. The first node holds the conversation before any turn.
struct AgentNode {
  Json messages{};                    // chat requests only
  Json variables{};                   // variables of the chat template
  std::vector<Json> answers{};        // messages added between turns, one list per gap
  std::optional<std::string> text{};  // text requests only
  AgentTurn so_far{};
  std::map<std::vector<int64_t>, int64_t> num_draws{};  // next turns started here; key: tokens in between
};

/// Position in the tree at which a turn is sampled.
struct BranchPoint {
  size_t node = 0;
  Json added_messages = Json::array();  // messages after the node
  std::vector<int64_t> added_ids{};     // tokens between the node and the turn
};

/// Returns the first node: the conversation of the session's first request.
AgentNode first_node(const CompletionRequest& request);

/// Finds the node that `request` continues. UserError: the request changes earlier messages or tokens (names the first
/// difference), adds nothing, or uses another endpoint than the session; or TurnTokens::behind() fails.
BranchPoint find_branch_point(const std::vector<AgentNode>& nodes, const CompletionRequest& request,
                              const TurnTokens& tokens, const Tokenizer& tokenizer);

/// Returns the node after the model's turn `text` at `branch_point`; the caller sets so_far.
AgentNode next_node(const AgentNode& before, const BranchPoint& branch_point, const CompletionRequest& request,
                    const std::string& text, ToolCallForm form);

}  // namespace roll
