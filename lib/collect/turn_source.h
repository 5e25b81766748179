// Translates between RolloutCoordinator and the engine when responses may be trajectories, which are multi-turn
// responses in an environment. To the coordinator, a trajectory is one running request. To the engine, each turn is a
// separate request. It continues after all tokens so far and reuses their KV pages. If the environment is configured to
// show only part of the history, each turn has its own context instead: a new prompt, and the turn after it. While an
// environment computes, its trajectory has no slot.
//
// A group is the set of tensor-parallel ranks that hold one copy of the model. Only its leader has the environments'
// answers; it broadcasts them, so that all ranks of the group act alike.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "collect/rollout_coordinator.h"
#include "collect/trajectory.h"
#include "collect/turn_tokens.h"

namespace roll {

/// Trajectories of a rollout job that have begun and are not over, by prompt and response number.
using Trajectories = std::map<SampleIndex, Trajectory>;

class TurnSource : public RequestSource {
 public:
  struct Game {
    const EnvironmentsByTag& environments;  // by the domain of rows; rows of other domains get ordinary responses
    EnvironmentPool& pool;                  // runs the environments; used only on the leader
    const TurnTokens& tokens;               // converts messages between turns to tokens
  };
  /// Limits of a trajectory, and sampling settings of its turns.
  struct Limits {
    int64_t response_length = 0;    // most tokens after the first prompt, all turns together
    int64_t sequence_length = 0;    // most tokens of a turn and its prompt, if each turn has its own context
    SamplingSettings generating{};  // for requests without GenerationRequest::generating
  };
  /// Called on all ranks of the group when a response is over. `request`: the coordinator's number. `trajectory`: null
  /// if the row's domain has no environment.
  using OnOver = std::function<void(int64_t request, const Generation& generation, const Trajectory* trajectory)>;

  /// Create one for each engine run, after RolloutCoordinator::begin(). `open`: the job's trajectories, kept between
  /// engine runs. All references must outlive this object.
  TurnSource(RolloutCoordinator& coordinator, Mesh& mesh, Game game, Limits limits, Trajectories& open, OnOver on_over);

  /// Called by the engine before each step. **Collective** over the group.
  Change next(const Queue& queue) override;

  // Engine callbacks. `engine_request`: the engine's number of the request.

  /// Must be called when an ordinary response, or a turn of a trajectory, has ended. `generation`: all tokens after the
  /// context's prompt, earlier turns included.
  void on_generated(int64_t engine_request, const Generation& generation);
  /// Must be called after every token if the run has agents, for those that stream. `so_far`: as `generation`, without
  /// text.
  void on_token(int64_t engine_request, const Generation& so_far);

  /// Converts the result of Engine::serve(), one Generation per turn, to one Generation per request of the coordinator
  /// (from its first_request() on), as RolloutCoordinator::end() needs it. Call it once, after the engine run.
  std::vector<Generation> by_request(std::vector<Generation> generations);

 private:
  // Below, `request` counts from the engine run's first request: the coordinator's number minus first_.
  struct Request {
    GenerationRequest asked{};    // from the coordinator
    int64_t engine_request = -1;  // the engine's number of the current turn; -1: the engine has none
    bool is_over = false;
  };
  bool is_played(int64_t request) const;
  bool is_agent(int64_t request) const { return is_played(request) && environment(request).env_type->is_agent; }
  void begin(int64_t request, Trajectory& trajectory);
  Trajectory& open_trajectory(int64_t request) { return open_.at(coordinator_.sample(first_ + request)); }
  void start(GenerationRequest asked, Change& change);
  void send(int64_t request, GenerationRequest asked, Change& change);
  void draw_turn(int64_t request, Change& change);
  void take_answers(Change& change);
  void apply_answer(int64_t request, TurnAnswer answer, Change& change);
  std::vector<int64_t> between_turns(int64_t request, const Reaction& reaction);
  std::vector<int64_t> prompt_of_turn(int64_t request, const Reaction& reaction);
  void finish(int64_t request);
  void cancel(int64_t request, Change& change);
  bool has_contexts(int64_t request) const { return is_played(request) && environment(request).has_contexts(); }
  const std::vector<int64_t>& prompt(int64_t request);
  int64_t max_turn_tokens(int64_t request);
  const EnvironmentConfig& environment(int64_t request) const;
  const Row& row(int64_t request) const { return *coordinator_.prompt(first_ + request).row; }

  RolloutCoordinator& coordinator_;
  Mesh& mesh_;
  Game game_;
  Limits limits_;
  Trajectories& open_;
  OnOver on_over_;
  int64_t first_;                  // the coordinator's number of this object's first request
  std::vector<Request> requests_;  // index: the coordinator's number minus first_
  std::vector<int64_t> owners_;    // the request of each engine request
  std::vector<int64_t> ended_;     // the engine's numbers of ended turns; cancelled next, which frees the sequence ids
  std::vector<int64_t> waiting_;   // requests that await an answer of the environment
};

}  // namespace roll
