// The sessions of agents: between their requests, each on a thread of the server, and the trajectories that the sampler
// draws. A session is a tree, since an agent may ask again; its trajectory ends with the turn that was drawn last when
// its reward comes. An agent that says nothing, dies, asks without end or breaks the rules ends its session as an
// environment that fails: that is never a reward.
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

/// What holds of all sessions.
struct SessionRules {
  const EnvironmentConfig& environment;
  const TurnTokens& tokens;
  const Tokenizer& tokenizer;
  int64_t prompt_length = 0;  // of a session's first request, in tokens
};

class AgentSessions : public SessionDesk {
 public:
  /// All references must outlive it.
  explicit AgentSessions(SessionRules rules);
  ~AgentSessions() override;

  // For the thread of the sampler.

  /// How a trajectory is drawn. `response_length`: tokens, the agent's between turns included.
  struct Terms {
    uint64_t seed = 0;  // of its level
    int64_t response_length = 0;
    SamplingSettings sampling{};  // of each turn
  };
  /// A session that an agent may take, for the trajectory of this number.
  void begin(int64_t number, Terms terms);
  /// What the agent asks, or how it ended, once one of them is there.
  std::optional<TurnAnswer> next(int64_t number);
  /// While the turn is drawn that next() gave: all tokens since the prompt.
  void hear_token(int64_t number, const Generation& so_far);
  /// It is drawn, and is the last of `turns`.
  void hear_turn(int64_t number, const Generation& said, const std::vector<Turn>& turns);
  /// Its trajectory is over, or not wanted any more.
  void end(int64_t number);

  // For whoever watches the agents.

  /// An agent that was known as `who` has ended. False: it had never taken a session.
  bool agent_ended(const std::string& who, const std::string& why);
  /// Whether a session of this agent failed while it ran: it is to be ended, and takes no other.
  bool is_to_end(const std::string& who);
  /// No agent can be had: sessions that nobody has taken are over.
  void fail_untaken(EnvironmentFault fault, const std::string& why);
  /// Who still waits is told so, and so is whoever comes.
  void close();

  // For agents.

  std::optional<Json> take(const std::string& who, std::chrono::milliseconds patience) override;
  void give_back(const std::string& id) override;
  std::shared_ptr<CompletionSink> find(const std::string& id, const std::string& who) override;
  bool end(const std::string& id, const std::string& who, const Json& body) override;

 private:
  class Sink;
  struct Draw {
    std::shared_ptr<PendingAnswer> answer;
    std::shared_ptr<const CompletionRequest> request;
    size_t choice = 0;
    AgentPlace place{};
    std::optional<uint64_t> seed{};
    int64_t num_given = 0;  // tokens of the response before this turn
    int64_t num_heard = 0;  // of the turn
  };
  struct Session {
    std::string id;
    Terms terms;
    std::string who{};
    bool is_taken = false;
    std::vector<AgentNode> nodes{};
    size_t last = 0;  // node that was drawn last
    std::deque<Draw> waiting{};
    std::optional<Draw> drawing{};
    std::optional<TurnAnswer> ending{};
    int64_t num_draws = 0, num_refused = 0;
    Stopwatch since_taken{}, since_heard{};  // of it
  };
  std::shared_ptr<PendingAnswer> submit(const std::string& id, std::shared_ptr<const CompletionRequest> request);
  void cancel(const std::string& id, const std::shared_ptr<PendingAnswer>& answer);
  Session* taken(const std::string& id);  // null: over, or none: only who takes one knows its id
  void add_draws(Session& session, const std::shared_ptr<const CompletionRequest>& asked,
                 const std::shared_ptr<PendingAnswer>& answer);
  void check_place(const Session& session, const AgentPlace& place) const;
  TurnAnswer start_draw(Session& session) const;
  void look_for_silence(Session& session);
  void fail(Session& session, EnvironmentFault fault, const std::string& why);
  void end_with(Session& session, TurnAnswer ending);

  const SessionRules rules_;
  std::mutex mutex_;
  std::condition_variable has_session_;
  std::map<int64_t, Session> sessions_;  // by the trajectory's number
  std::map<std::string, int64_t> by_id_;
  std::deque<int64_t> untaken_;
  std::map<std::string, int64_t> num_taken_;  // by who, since it began
  std::set<std::string> failed_;              // agents that are to be ended
  int64_t num_playing_ = 0;                   // that are taken and not over
  Stopwatch since_free_;                      // since a session was first to be had, taken or over
  std::string closed_;
};

}  // namespace roll
