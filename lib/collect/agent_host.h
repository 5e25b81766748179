// Hosts the agents of one environment tag, for RolloutWorker: their sessions, the HTTP server through which they reach
// the policy, and, if a command is configured, the agent programs, which it starts, watches and restarts.
#pragma once

#include <memory>
#include <string>

#include "base/log.h"
#include "collect/agent_sessions.h"
#include "text/chat_template.h"

namespace roll {

/// The policy, as the server needs it.
struct AgentPolicy {
  const ChatTemplate& chat_template;
  const Tokenizer& tokenizer;
  const TurnTokens& tokens;
  int64_t prompt_length = 0, response_length = 0;  // limits, in tokens
};

class AgentHost {
 public:
  /// `tag`: key in custom_envs, named in messages. `rank`: data-parallel rank of the sampler, added to the port.
  /// References must outlive this object. UserError: the port is taken.
  AgentHost(const std::string& tag, const EnvironmentConfig& environment, AgentPolicy policy, int64_t rank, Log& log);
  /// Stops the programs; requests that wait get the error "the run is over".
  ~AgentHost();

  AgentSessions& sessions();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace roll
