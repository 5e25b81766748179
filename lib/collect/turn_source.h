// Turns trajectories into engine requests, between RolloutCoordinator and the engine. To the coordinator, a trajectory
// is one running request. To the engine, each turn is a request: it continues after all tokens so far, whose pages it
// reuses, or has a new prompt if the environment's manager shows only part of the history. While an environment
// computes, its trajectory has no slot. The ranks of a group act alike, because their leader broadcasts what
// environments answer.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "collect/rollout_coordinator.h"
#include "collect/trajectory.h"
#include "collect/turn_tokens.h"

namespace roll {

/// Trajectories of a rollout job that have begun and are not over.
using Trajectories = std::map<SampleIndex, Trajectory>;

class TurnSource : public RequestSource {
 public:
  struct Game {
    const EnvironmentsByTag& environments;  // rows of other domains have one turn
    EnvironmentPool& pool;                  // used on leaders
    const TurnTokens& tokens;
  };
  /// Token limits of a response, and sampling of its turns.
  struct Limits {
    int64_t response_length = 0;
    int64_t sequence_length = 0;  // tokens of a prompt and its response in one context
    SamplingSettings generating{};
  };
  /// Called when a response is over. `trajectory`: null if its row has no environment.
  using OnOver = std::function<void(int64_t request, const Generation& generation, const Trajectory* trajectory)>;

  /// For one engine run of the coordinator, after its begin(). `request`: the coordinator's number; `engine_request`:
  /// the engine's. All references must outlive this object.
  TurnSource(RolloutCoordinator& coordinator, Mesh& mesh, Game game, Limits limits, Trajectories& open, OnOver on_over);

  Change next(const Queue& queue) override;
  /// Engine callback: a response or a turn has ended.
  void on_generated(int64_t engine_request, const Generation& generation);
  /// Engine callback for every token.
  void on_token(int64_t engine_request, const Generation& so_far);
  /// Returns the engine's generations by request of the coordinator.
  std::vector<Generation> by_request(std::vector<Generation> generations);

 private:
  struct Request {
    GenerationRequest asked{};
    int64_t engine_request = -1;  // the engine's last number for it; -1: none
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
  std::vector<int64_t> owners_;    // request by the engine's number
  std::vector<int64_t> ended_;     // the engine's numbers of ended turns; cancelling these frees their sequence ids
  std::vector<int64_t> waiting_;   // requests that await their environments' answers
};

}  // namespace roll
