#include "collect/turn_source.h"

#include <algorithm>
#include <deque>

#include "base/bytes.h"
#include "base/error.h"
#include "dist/messages.h"
#include "environment/agent_text.h"
#include "records/messages.h"

namespace roll {

namespace {

constexpr double kAnswerWait_s = 1e-3;

EnvironmentAnswers::Answer to_message(int64_t request, const TurnAnswer& answer) {
  const auto& [observation, reward, is_done, is_valid, succeeded, tools, answers, action] = answer.reaction;
  return {.request = request,
          .observation = observation,
          .reward = reward,
          .is_done = is_done,
          .is_valid = is_valid,
          .succeeded = succeeded,
          .tools = tools,
          .tool_answers = answers,
          .action = action,
          .fault = answer.fault,
          .why = answer.why,
          .is_late = answer.is_late,
          .agent = answer.agent};
}

TurnAnswer from_message(const EnvironmentAnswers::Answer& message) {
  return {.reaction = {.observation = message.observation,
                       .reward = message.reward,
                       .is_done = message.is_done,
                       .is_valid = message.is_valid,
                       .succeeded = message.succeeded,
                       .tools = message.tools,
                       .answers = message.tool_answers,
                       .action = message.action},
          .fault = message.fault,
          .why = message.why,
          .is_late = message.is_late,
          .agent = message.agent};
}

uint32_t state_hash(const std::string& observation) {
  return static_cast<uint32_t>(fnv1a(observation));
}

void append(Generation& generation, const std::vector<int64_t>& ids) {
  generation.ids.insert(generation.ids.end(), ids.begin(), ids.end());
  generation.log_probs.resize(generation.ids.size());
  generation.processed_log_probs.resize(generation.ids.size());
}

/// Appends `more`, a turn sampled from a new prompt.
void append(Generation& generation, const Generation& added, int64_t prompt_length) {
  const auto add = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  if (!generation.routed_experts.empty() && !added.ids.empty()) {  // the last token before the prompt has no experts
    const auto width = added.routed_experts.size() / (prompt_length + added.ids.size() - 1);
    generation.routed_experts.resize(generation.routed_experts.size() + width, -1);
  }
  add(generation.ids, added.ids);
  add(generation.log_probs, added.log_probs);
  add(generation.processed_log_probs, added.processed_log_probs);
  add(generation.routed_experts, added.routed_experts);
}

/// Returns the part after the first `count` tokens.
Generation generation_after(const Generation& all, int64_t count) {
  Generation rest;
  if (std::ssize(all.ids) <= count) return rest;
  rest.ids = {all.ids.begin() + count, all.ids.end()};
  rest.log_probs = {all.log_probs.begin() + count, all.log_probs.end()};
  rest.processed_log_probs = {all.processed_log_probs.begin() + count, all.processed_log_probs.end()};
  return rest;
}

/// Resets the trajectory to where an agent's request continues, or where it ends.
void rewind_to(Trajectory& trajectory, const AgentTurn& turn) {
  trajectory.generation.ids = turn.ids;
  trajectory.generation.log_probs = turn.log_probs;
  trajectory.generation.processed_log_probs.resize(turn.ids.size());
  trajectory.turns = turn.turns;
  trajectory.agent = turn;
}

}  // namespace

TurnSource::TurnSource(RolloutCoordinator& coordinator, Mesh& mesh, Game game, Limits limits, Trajectories& open,
                       OnOver on_over)
    : coordinator_(coordinator),
      mesh_(mesh),
      game_(game),
      limits_(std::move(limits)),
      open_(open),
      on_over_(std::move(on_over)),
      first_(coordinator.first_request()) {}

bool TurnSource::is_played(int64_t request) const {
  return game_.environments.contains(row(request).domain);
}

const EnvironmentConfig& TurnSource::environment(int64_t request) const {
  return game_.environments.at(row(request).domain);
}

/// Reports trajectories that have begun to the coordinator as running.
RequestSource::Change TurnSource::next(const Queue& queue) {
  std::deque<int64_t> not_begun;
  int64_t num_begun = std::ssize(waiting_);
  for (const int64_t engine_request : queue.waiting) {
    const int64_t request = owners_.at(engine_request);
    const bool has_begun =
        is_agent(request) || (is_played(request) && !open_trajectory(request).generation.ids.empty());
    if (has_begun)
      ++num_begun;
    else
      not_begun.push_back(request);
  }
  Change coordinator_change = coordinator_.next(
      {.waiting = not_begun, .num_running = queue.num_running + num_begun, .num_free_slots = queue.num_free_slots});
  Change change{.is_last = coordinator_change.is_last, .pauses = coordinator_change.pauses};
  change.cancelled = std::exchange(ended_, {});
  for (const int64_t request : coordinator_change.cancelled) cancel(request, change);
  for (GenerationRequest& asked : coordinator_change.requests) start(std::move(asked), change);
  if (!change.is_last && !change.pauses) take_answers(change);
  if (queue.is_idle() && change.requests.empty() && !waiting_.empty() && !change.is_last && mesh_.is_leader())
    game_.pool.wait(kAnswerWait_s);
  return change;
}

void TurnSource::start(GenerationRequest asked, Change& change) {
  const int64_t request = std::ssize(requests_);
  requests_.push_back({.asked = asked});
  if (!is_played(request)) return send(request, std::move(asked), change);
  const auto [found, is_new] = open_.try_emplace(coordinator_.sample(first_ + request));
  Trajectory& trajectory = found->second;
  if (is_new) begin(request, trajectory);
  if (trajectory.awaits_answer) return waiting_.push_back(request);  // a pause came in between
  draw_turn(request, change);
}

void TurnSource::begin(int64_t request, Trajectory& trajectory) {
  const std::string observation = row(request).raw.at("observation").get<std::string>();
  const auto seed = row(request).raw.at("seed").get<uint64_t>();
  trajectory.observation = observation;
  trajectory.awaits_answer = is_agent(request);
  if (!mesh_.is_leader()) return;
  const std::string& tag = row(request).domain;
  trajectory.session =
      trajectory.awaits_answer
          ? game_.pool.begin(tag, {.seed = seed,
                                   .response_length = limits_.response_length,
                                   .sampling = requests_[request].asked.generating.value_or(limits_.generating)})
          : game_.pool.begin(tag, seed, observation);
}

/// Prompt of the current turn's context.
const std::vector<int64_t>& TurnSource::prompt(int64_t request) {
  const Trajectory& trajectory = open_trajectory(request);
  return trajectory.prompt.empty() ? row(request).prompt_ids : trajectory.prompt;
}

/// Most tokens that the next turn may have.
int64_t TurnSource::max_turn_tokens(int64_t request) {
  if (has_contexts(request)) return limits_.sequence_length - std::ssize(prompt(request));
  return limits_.response_length - std::ssize(open_trajectory(request).generation.ids);
}

void TurnSource::send(int64_t request, GenerationRequest asked, Change& change) {
  requests_[request].engine_request = std::ssize(owners_);
  owners_.push_back(request);
  change.requests.push_back(std::move(asked));
}

/// Sends the next turn to the engine, or the rest of one that was paused.
void TurnSource::draw_turn(int64_t request, Change& change) {
  const Trajectory& trajectory = open_trajectory(request);
  GenerationRequest asked = requests_[request].asked;
  SamplingSettings generating = asked.generating.value_or(limits_.generating);
  int64_t max_tokens =
      std::min({max_turn_tokens(request), generating.max_new_tokens, environment(request).max_tokens_per_step});
  if (trajectory.agent) {
    asked.prompt_ids = trajectory.agent->prompt_ids;
    asked.seed = trajectory.agent->seed;
    generating.stop_strings = trajectory.agent->stop_strings;
    generating.include_stop_str_in_output = trajectory.agent->include_stop_str_in_output;
    generating.skip_special_tokens = trajectory.agent->skip_special_tokens;
    max_tokens = std::min(max_tokens, trajectory.agent->max_new_tokens);
  }
  const int64_t num_earlier = std::ssize(trajectory.generation.ids);
  if (has_contexts(request)) {
    asked.prompt_ids = prompt(request);
    asked.first_position = num_earlier;
    asked.begun = generation_after(asked.begun, num_earlier);
  } else {
    asked.num_earlier_tokens = num_earlier;
    if (std::ssize(asked.begun.ids) <= num_earlier) asked.begun = trajectory.generation;
  }
  generating.max_new_tokens = asked.num_earlier_tokens + max_tokens;
  asked.generating = std::move(generating);
  requests_[request].asked.begun = {};
  send(request, std::move(asked), change);
}

void TurnSource::on_generated(int64_t engine_request, const Generation& generation) {
  const int64_t request = owners_.at(engine_request);
  if (!is_played(request)) {
    requests_[request].is_over = true;
    return on_over_(first_ + request, generation, nullptr);
  }
  Trajectory& trajectory = open_trajectory(request);
  const int64_t num_earlier = std::ssize(trajectory.generation.ids);
  const std::string message = generation.text;
  if (has_contexts(request)) {
    append(trajectory.generation, generation, std::ssize(prompt(request)));
  } else {
    ROLL_CHECK(std::equal(trajectory.generation.ids.begin(), trajectory.generation.ids.end(), generation.ids.begin()),
               "tokens stay as they were drawn");
    trajectory.generation = generation;
  }
  trajectory.generation.text = message;
  trajectory.turns.push_back({.num_tokens = std::ssize(trajectory.generation.ids) - num_earlier,
                              .state = state_hash(trajectory.observation),
                              .is_fresh = !trajectory.prompt.empty()});
  ended_.push_back(engine_request);
  requests_[request].engine_request = -1;
  if (trajectory.failed) return finish(request);
  trajectory.awaits_answer = true;
  waiting_.push_back(request);
  if (!mesh_.is_leader()) return;
  if (trajectory.agent)
    game_.pool.sessions(trajectory.session).finish_turn(trajectory.session, generation, trajectory.turns);
  else
    game_.pool.step(trajectory.session, message);
}

void TurnSource::on_token(int64_t engine_request, const Generation& so_far) {
  const int64_t request = owners_.at(engine_request);
  if (!mesh_.is_leader() || !is_agent(request)) return;
  const Trajectory& trajectory = open_trajectory(request);
  if (!trajectory.failed) game_.pool.sessions(trajectory.session).stream_tokens(trajectory.session, so_far);
}

/// Handles new answers of environments. **Collective** over the group if requests wait.
void TurnSource::take_answers(Change& change) {
  if (waiting_.empty()) return;
  std::map<int64_t, TurnAnswer> answers;
  if (mesh_.is_leader())
    for (const int64_t request : waiting_)
      if (auto answer = game_.pool.take(open_trajectory(request).session)) {
        const auto& max_seconds = environment(request).max_seconds;
        answer->is_late = max_seconds && open_trajectory(request).watch.seconds() > *max_seconds;
        answers[request] = std::move(*answer);
      }
  if (mesh_.tp().communicates()) {
    EnvironmentAnswers message;
    for (const auto& [request, answer] : answers) message.answers.push_back(to_message(request, answer));
    message = broadcast_message(message, 0, mesh_.tp());
    answers.clear();
    for (const auto& answer : message.answers) answers[answer.request] = from_message(answer);
  }
  for (auto& [request, answer] : answers) {
    std::erase(waiting_, request);
    apply_answer(request, std::move(answer), change);
  }
}

void TurnSource::apply_answer(int64_t request, TurnAnswer answer, Change& change) {
  Trajectory& trajectory = open_trajectory(request);
  const EnvironmentConfig& config = environment(request);
  trajectory.awaits_answer = false;
  if (answer.agent) rewind_to(trajectory, *answer.agent);
  if (answer.fault) {
    trajectory.failed = std::move(answer);
    if (!trajectory.turns.empty()) return finish(request);
    if (trajectory.agent) trajectory.agent->max_new_tokens = 1;  // a trajectory needs a token
    return draw_turn(request, change);
  }
  if (answer.agent && !answer.reaction.is_done) {
    requests_[request].asked.begun = {};  // may belong to an abandoned branch
    return draw_turn(request, change);
  }
  const Reaction& reaction = answer.reaction;
  trajectory.turns.back().reward = as_written(reaction.reward);
  trajectory.turns.back().is_valid = reaction.is_valid;
  trajectory.succeeded = reaction.succeeded;
  if (reaction.tools) {
    trajectory.tools = trajectory.tools.value_or(ToolCounts{});
    trajectory.tools->calls += reaction.tools->calls;
    trajectory.tools->errors += reaction.tools->errors;
  }
  trajectory.is_done = reaction.is_done;
  if (trajectory.is_done) return finish(request);
  if (std::ssize(trajectory.turns) >= config.max_steps) {
    trajectory.cut = TrajectoryCut::kTurns;
    return finish(request);
  }
  const bool starts_context = has_contexts(request);
  const std::vector<int64_t> ids =
      starts_context ? prompt_of_turn(request, reaction) : between_turns(request, reaction);
  if (std::ssize(ids) >= (starts_context ? limits_.sequence_length : max_turn_tokens(request)))
    trajectory.cut = TrajectoryCut::kTokens;
  else if (answer.is_late)
    trajectory.cut = TrajectoryCut::kTime;
  if (trajectory.cut) return finish(request);
  if (starts_context) trajectory.prompt = ids;
  append(trajectory.generation, ids);
  trajectory.turns.back().num_environment_tokens = std::ssize(ids);
  trajectory.observation = reaction.observation;
  draw_turn(request, change);
}

/// Returns the tokens after the last turn, with the environment's answer.
std::vector<int64_t> TurnSource::between_turns(int64_t request, const Reaction& reaction) {
  Trajectory& trajectory = open_trajectory(request);
  const Json answer = messages_between(environment(request), reaction, std::ssize(trajectory.turns),
                                       trajectory.generation.text, row(request).tools);
  const Json variables = tool_variables(row(request).tools);
  const auto ids = game_.tokens.tokens_between({*row(request).messages, variables, trajectory.answers}, answer,
                                               trajectory.generation.ids.back());
  trajectory.answers.push_back(answer);
  return ids;
}

/// Returns the prompt of the next turn, if each turn has its own context.
std::vector<int64_t> TurnSource::prompt_of_turn(int64_t request, const Reaction& reaction) {
  Trajectory& trajectory = open_trajectory(request);
  const auto disarmed = [&](const std::string& text) { return game_.tokens.disarmed(text); };
  trajectory.past.push_back({.observation = disarmed(trajectory.observation),
                             .action = disarmed(reaction.action.empty() ? trajectory.generation.text : reaction.action),
                             .is_valid = reaction.is_valid,
                             .reward = reaction.reward});
  const auto instruction = row(request).raw.at("instruction").get<std::string>();
  return game_.tokens.prompt(
      messages_of_turn(environment(request), {instruction, disarmed(reaction.observation)}, trajectory.past));
}

void TurnSource::finish(int64_t request) {
  const auto found = open_.find(coordinator_.sample(first_ + request));
  Trajectory trajectory = std::move(found->second);
  open_.erase(found);
  requests_[request].is_over = true;
  if (mesh_.is_leader()) game_.pool.end(trajectory.session);
  trajectory.generation.finish_reason = trajectory.is_done ? FinishReason::kStop
                                        : trajectory.cut   ? FinishReason::kLength
                                                           : FinishReason::kAbort;
  on_over_(first_ + request, trajectory.generation, &trajectory);
}

void TurnSource::cancel(int64_t request, Change& change) {
  Request& entry = requests_.at(request);
  if (entry.engine_request >= 0) change.cancelled.push_back(std::exchange(entry.engine_request, -1));
  if (!is_played(request) || std::exchange(entry.is_over, true)) return;
  std::erase(waiting_, request);
  const auto found = open_.find(coordinator_.sample(first_ + request));
  if (mesh_.is_leader()) game_.pool.end(found->second.session);
  open_.erase(found);
}

std::vector<Generation> TurnSource::by_request(std::vector<Generation> generations) {
  std::vector<Generation> results(requests_.size());
  for (int64_t request = 0; request < std::ssize(requests_); ++request) {
    const Request& entry = requests_[request];
    if (entry.engine_request >= 0 && !has_contexts(request)) {
      results[request] = std::move(generations.at(entry.engine_request));
    } else if (!entry.is_over) {
      results[request] = open_trajectory(request).generation;
      if (entry.engine_request >= 0)
        append(results[request], generations.at(entry.engine_request), std::ssize(prompt(request)));
    }
    if (is_played(request)) results[request].finish_reason = entry.is_over ? FinishReason::kStop : FinishReason::kAbort;
  }
  return results;
}

}  // namespace roll
