// History of an agent session, for AgentSessions. A session is the conversation of one external agent with the policy;
// it is a tree with one node per turn of the policy, because the agent may ask again from an earlier point. A request
// must repeat an earlier conversation unchanged; only the added part is tokenized, so sampled tokens stay as drawn.
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

/// The conversation up to the end of one policy turn. The first node holds the conversation before any turn.
struct AgentNode {
  Json messages{};                    // whole conversation as {role, content} messages; null unless a chat session
  Json variables{};                   // variables of the chat template, tools included
  std::vector<Json> answers{};        // for each pair of consecutive turns: list of the messages in between
  std::optional<std::string> text{};  // whole conversation as text; unset if the session sends messages or token ids
  AgentTurn so_far{};                 // whole conversation as tokens
  /// Key: tokens between this node and a policy turn. Value: number of turns started there, which seeds the next one.
  std::map<std::vector<int64_t>, int64_t> num_draws{};
};

/// Position in the tree at which the policy samples its next turn: some messages or tokens after a node.
struct BranchPoint {
  size_t node = 0;                      // index of the node that the request continues
  Json added_messages = Json::array();  // chat requests: messages that the request added after the node
  std::vector<int64_t> added_ids{};     // the same as tokens, up to the first token of the policy's turn
};

/// Returns the first node of a session: the conversation of its first request.
AgentNode first_node(const CompletionRequest& request);

/// Returns the place after which `request` asks for a turn; of several nodes that it continues, takes the longest.
/// `nodes`: all nodes of the session, at least first_node(). Throws UserError if the request
/// - changes earlier messages, text or tokens (the error names the first difference), or the template's variables,
/// - is a chat request that adds no message after the policy's last turn,
/// - uses another endpoint than the session's first request, or sends text after token ids,
/// or if TurnTokens::tokens_between() throws.
BranchPoint find_branch_point(const std::vector<AgentNode>& nodes, const CompletionRequest& request,
                              const TurnTokens& tokens, const Tokenizer& tokenizer);

/// Returns the node for a policy turn that wrote `text`. `before`: the node of `branch_point`. `form`: how tool calls
/// are written in `text`. The caller fills in so_far.
AgentNode next_node(const AgentNode& before, const BranchPoint& branch_point, const CompletionRequest& request,
                    const std::string& text, ToolCallForm form);

}  // namespace roll
