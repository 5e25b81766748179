// Hosts the external agents of one environment. RolloutWorker has one host per such environment on each group leader of
// the sampler. A host holds the agents' sessions (agent_sessions.h) and the HTTP server through which agents reach the
// policy. If a command is configured, it starts, watches and restarts agent programs.
#pragma once

#include <memory>
#include <string>

#include "base/log.h"
#include "collect/agent_sessions.h"
#include "text/chat_template.h"

namespace roll {

/// Tokenization and length limits of the policy, for the server.
struct AgentPolicy {
  const ChatTemplate& chat_template;
  const Tokenizer& tokenizer;
  const TurnTokens& tokens;
  int64_t prompt_length = 0;    // longest first request of a session, in tokens
  int64_t response_length = 0;  // most tokens after that request; the server accepts at most the sum of both
};

class AgentHost {
 public:
  /// Starts the server and the agent programs. `tag`: key of the environment in custom_envs, for messages. `dp_rank`:
  /// data-parallel rank of the sampler; a configured port is increased by it, port 0 picks a free one. All referenced
  /// objects, also those in `policy`, must outlive this object. Throws UserError if the port is taken.
  AgentHost(const std::string& tag, const EnvironmentConfig& environment, AgentPolicy policy, int64_t dp_rank,
            Log& log);
  /// Stops the programs and the server; waiting requests get the error "the run is over".
  ~AgentHost();

  /// Returns the sessions, through which the sampler exchanges turns with the agents. They live as long as this object.
  AgentSessions& sessions();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace roll
