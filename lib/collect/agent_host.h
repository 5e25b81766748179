// Agents of one kind and what they ask: their sessions, the server that they reach these by, and the programs, if the
// configuration has some, which are started, watched and started again.
#pragma once

#include <memory>
#include <string>

#include "base/log.h"
#include "collect/agent_sessions.h"
#include "text/chat_template.h"

namespace roll {

/// What the policy is, to those who ask it.
struct AgentPolicy {
  const ChatTemplate& chat_template;
  const Tokenizer& tokenizer;
  const TurnTokens& tokens;
  int64_t prompt_length = 0, response_length = 0;  // at most
};

class AgentHost {
 public:
  /// `tag` names its keys in messages. `rank`: of those that sample. References must outlive it. UserError: the port is
  /// taken.
  AgentHost(const std::string& tag, const EnvironmentConfig& environment, AgentPolicy policy, int64_t rank, Log& log);
  /// Ends the programs, and whoever waits hears that the run is over.
  ~AgentHost();

  AgentSessions& sessions();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace roll
