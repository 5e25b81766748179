// Agent sessions, for AgentHost and TurnSource. A session connects one trajectory of the sampler with one external
// agent. The agent's HTTP requests arrive on server threads; each asks the policy for a turn. A session is a tree
// of turns, because an agent may ask again from an earlier point; the trajectory keeps only the path to the turn that
// was sampled last before the agent posted its reward. If an agent is silent or exits, asks for too many turns or sends
// too many invalid requests, its session ends as a failed environment, never with a reward.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "collect/agent_history.h"
#include "collect/turn_answer.h"
#include "environment/config.h"
#include "rollout/settings.h"
#include "serve/session_desk.h"

namespace roll {

/// Settings that all sessions of an AgentSessions share.
struct SessionRules {
  const EnvironmentConfig& environment;
  const TurnTokens& tokens;
  const Tokenizer& tokenizer;
  int64_t prompt_length = 0;  // limit for a session's first request, in tokens
};

class AgentSessions : public SessionDesk {
 public:
  /// All references in `rules` must outlive this object.
  explicit AgentSessions(SessionRules rules);
  ~AgentSessions() override;

  // Called by the sampler's thread. `number`: the caller's unique number of the trajectory.

  /// Settings of one trajectory.
  struct Terms {
    uint64_t seed = 0;            // sent to the agent, which must start the same game or task for the same seed
    int64_t response_length = 0;  // most tokens after the first request, of the policy and of later requests
    SamplingSettings sampling{};  // for every turn; the server rejects requests with other settings
  };
  /// Opens a session, which the next free agent may then take.
  void begin(int64_t number, Terms terms);
  /// Returns the agent's next request (in TurnAnswer::agent), each once. After the end of the session, returns how it
  /// ended: with a reward (is_done) or a fault. Returns nullopt while there is neither. Never waits; a session that
  /// exceeds a time limit of the environment (timeout_s, max_seconds) fails here.
  std::optional<TurnAnswer> next(int64_t number);
  /// Streams new tokens of the current turn to the agent, if its request streams. `so_far`: all tokens of the
  /// trajectory since the prompt of its first request.
  void stream_tokens(int64_t number, const Generation& so_far);
  /// Answers the agent's current request. `generation`: all tokens of the trajectory since the first prompt, and the
  /// text of the finished turn only. `turns`: splits these tokens; the finished turn is the last.
  void finish_turn(int64_t number, const Generation& generation, const std::vector<Turn>& turns);
  /// Removes the session, whose trajectory is over or no longer needed; the agent's waiting requests fail.
  void end(int64_t number);

  // Called by the watcher of the agent programs (AgentHost). `agent_name`: the name under which the agent took a
  // session. `why`: text that follows "the environment" in error messages.

  /// Fails the open sessions of an agent that has exited. Returns false if it has taken no session since it started.
  bool agent_ended(const std::string& agent_name, const std::string& why);
  /// Returns true if a session of this agent failed. The watcher must then stop the agent; until agent_ended() is
  /// called, it gets no other session.
  bool must_stop(const std::string& agent_name);
  /// Fails all sessions that no agent has taken, because no agent can be started.
  void fail_untaken(EnvironmentFault fault, const std::string& why);
  /// Fails all waiting and future requests, because the run is over.
  void close();

  // Called by the server for agents; SessionDesk describes these functions.

  std::optional<Json> take(const std::string& agent_name, std::chrono::milliseconds patience) override;
  void give_back(const std::string& id) override;
  std::shared_ptr<CompletionSink> find(const std::string& id, const std::string& agent_name) override;
  bool end(const std::string& id, const std::string& agent_name, const Json& body) override;

 private:
  class Sink;
  struct Draw {  // a turn that an agent has asked for
    std::shared_ptr<PendingAnswer> answer;
    std::shared_ptr<const CompletionRequest> request;
    size_t choice = 0;
    BranchPoint branch_point{};
    std::optional<uint64_t> seed{};
    int64_t num_earlier_tokens = 0;  // tokens of the response before this turn
    int64_t num_streamed = 0;        // tokens of this turn already streamed
  };
  struct Session {
    std::string id;
    Terms terms;
    std::string agent_name{};
    bool is_taken = false;
    std::vector<AgentNode> nodes{};
    size_t last_node = 0;                // index of the node sampled last
    std::deque<Draw> waiting{};          // turns asked for and not started
    std::optional<Draw> current_draw{};  // the turn being sampled
    std::optional<TurnAnswer> ending{};  // how the session ended; unset while open
    int64_t num_draws = 0, num_refused = 0;
    Stopwatch since_taken{};    // since an agent took the session
    Stopwatch since_contact{};  // since the agent's last request or answer
  };
  std::shared_ptr<PendingAnswer> submit(const std::string& id, const std::shared_ptr<const CompletionRequest>& request);
  void cancel(const std::string& id, const std::shared_ptr<PendingAnswer>& answer);
  Session* find_taken(const std::string& id);  // null: over or unknown
  void queue_draws(Session& session, const std::shared_ptr<const CompletionRequest>& shared_request,
                   const std::shared_ptr<PendingAnswer>& answer);
  void check_branch_point(const Session& session, const BranchPoint& branch_point) const;
  TurnAnswer start_draw(Session& session) const;
  void check_time_limits(Session& session);
  void fail(Session& session, EnvironmentFault fault, const std::string& why);
  void end_with(Session& session, TurnAnswer ending);

  const SessionRules rules_;
  std::mutex mutex_;
  std::condition_variable has_session_;
  std::map<int64_t, Session> sessions_;  // by the trajectory's number
  std::map<std::string, int64_t> trajectory_by_id_;
  std::deque<int64_t> untaken_;                        // trajectories whose sessions no agent has taken
  std::map<std::string, int64_t> num_taken_by_agent_;  // sessions taken, by agent, since the agent started
  std::set<std::string> failed_agents_;                // agents that must be stopped
  int64_t num_playing_ = 0;                            // sessions taken and not over
  Stopwatch since_free_;                               // since a session became available, was taken or ended
  std::string close_reason_;
};

}  // namespace roll
