// Trajectories between who decides what is sampled (rollout_coordinator.h) and the engine. To the first a trajectory is
// one request that runs; to the engine each turn is one, which goes on behind all tokens so far, whose pages it finds
// again, or begins anew with a prompt of its own, where the environment's manager shows it no more. While an
// environment thinks, the trajectory has no slot. The ranks of a group do the same things in the same order: their
// leader tells them what environments say.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "collect/rollout_coordinator.h"
#include "collect/trajectory.h"
#include "collect/turn_tokens.h"

namespace roll {

/// Those of a rollout job that have begun and are not over.
using Trajectories = std::map<SampleIndex, Trajectory>;

class TurnSource : public RequestSource {
 public:
  struct Game {
    const EnvironmentsByTag& environments;  // rows whose domain is none of these are sampled once, as ever
    EnvironmentPool& pool;                  // of leaders
    const TurnTokens& tokens;
  };
  /// How many tokens a response may have, and how turns are drawn.
  struct Limits {
    int64_t response_length = 0;
    int64_t sequence_length = 0;  // of a prompt and what follows it in one context
    SamplingSettings generating{};
  };
  /// A response is over: `trajectory` is null where its row has no environment.
  using OnOver = std::function<void(int64_t request, const Generation& said, const Trajectory* trajectory)>;

  /// For one serving of the coordinator, which has begun; its requests are meant where a request's number is given.
  /// All references must outlive it.
  TurnSource(RolloutCoordinator& coordinator, Mesh& mesh, Game game, Limits limits, Trajectories& open, OnOver on_over);

  Change next(const Queue& queue) override;
  /// For the engine, as a response or a turn ends.
  void generated(int64_t served, const Generation& generation);
  /// For the engine, with every token.
  void drew(int64_t served, const Generation& so_far);
  /// What the engine gave back, as the coordinator would have had it without turns.
  std::vector<Generation> by_request(std::vector<Generation> generations);

 private:
  struct Request {
    GenerationRequest asked{};
    int64_t in_engine = -1;  // the engine's last number for it
    bool is_over = false;
  };
  bool is_played(int64_t request) const;
  bool is_agent(int64_t request) const { return is_played(request) && environment(request).env_type->is_agent; }
  void begin(int64_t request, Trajectory& its);
  Trajectory& trajectory(int64_t request) { return open_.at(coordinator_.sample(first_ + request)); }
  void start(GenerationRequest asked, Change& change);
  void send(int64_t request, GenerationRequest asked, Change& change);
  void draw_turn(int64_t request, Change& change);
  void hear_answers(Change& change);
  void hear(int64_t request, TurnAnswer answer, Change& change);
  std::vector<int64_t> between_turns(int64_t request, const Reaction& reaction);
  std::vector<int64_t> prompt_of_turn(int64_t request, const Reaction& reaction);
  void finish(int64_t request);
  void cancel(int64_t request, Change& change);
  bool has_contexts(int64_t request) const { return is_played(request) && environment(request).has_contexts(); }
  const std::vector<int64_t>& prompt(int64_t request);
  int64_t room(int64_t request);
  const EnvironmentConfig& environment(int64_t request) const;
  const Row& row(int64_t request) const { return *coordinator_.prompt(first_ + request).row; }

  RolloutCoordinator& coordinator_;
  Mesh& mesh_;
  Game game_;
  Limits limits_;
  Trajectories& open_;
  OnOver on_over_;
  int64_t first_;                  // the coordinator's number of the first request here
  std::vector<Request> requests_;  // by the coordinator's number, less the first
  std::vector<int64_t> owners_;    // by the engine's number
  std::vector<int64_t> ended_;     // the engine's numbers of turns whose names are to be free again
  std::vector<int64_t> waiting_;   // requests whose environments are to answer
};

}  // namespace roll
