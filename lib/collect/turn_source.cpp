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

EnvironmentAnswers::Answer told(int64_t request, const TurnAnswer& answer) {
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

TurnAnswer heard(const EnvironmentAnswers::Answer& told) {
  return {.reaction = {.observation = told.observation,
                       .reward = told.reward,
                       .is_done = told.is_done,
                       .is_valid = told.is_valid,
                       .succeeded = told.succeeded,
                       .tools = told.tools,
                       .answers = told.tool_answers,
                       .action = told.action},
          .fault = told.fault,
          .why = told.why,
          .is_late = told.is_late,
          .agent = told.agent};
}

uint32_t state_of(const std::string& observation) {
  return static_cast<uint32_t>(fnv1a(observation));
}

void append(Generation& said, const std::vector<int64_t>& ids) {
  said.ids.insert(said.ids.end(), ids.begin(), ids.end());
  said.log_probs.resize(said.ids.size());
  said.processed_log_probs.resize(said.ids.size());
}

/// Appends `more`, a turn sampled from a new prompt.
void append(Generation& said, const Generation& more, int64_t prompt_length) {
  const auto add = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  if (!said.routed_experts.empty() && !more.ids.empty()) {  // the last token before the prompt has no experts
    const auto width = more.routed_experts.size() / (prompt_length + more.ids.size() - 1);
    said.routed_experts.resize(said.routed_experts.size() + width, -1);
  }
  add(said.ids, more.ids);
  add(said.log_probs, more.log_probs);
  add(said.processed_log_probs, more.processed_log_probs);
  add(said.routed_experts, more.routed_experts);
}

/// Returns the part after the first `count` tokens.
Generation rest_behind(const Generation& all, int64_t count) {
  Generation rest;
  if (std::ssize(all.ids) <= count) return rest;
  rest.ids = {all.ids.begin() + count, all.ids.end()};
  rest.log_probs = {all.log_probs.begin() + count, all.log_probs.end()};
  rest.processed_log_probs = {all.processed_log_probs.begin() + count, all.processed_log_probs.end()};
  return rest;
}

/// Resets the trajectory to where an agent's request continues, or where it ends.
void go_back_to(Trajectory& trajectory, const AgentTurn& turn) {
  trajectory.said.ids = turn.ids;
  trajectory.said.log_probs = turn.log_probs;
  trajectory.said.processed_log_probs.resize(turn.ids.size());
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
  std::deque<int64_t> fresh;
  int64_t num_begun = std::ssize(waiting_);
  for (const int64_t served : queue.waiting) {
    const int64_t request = owners_.at(served);
    const bool has_begun = is_agent(request) || (is_played(request) && !trajectory(request).said.ids.empty());
    if (has_begun)
      ++num_begun;
    else
      fresh.push_back(request);
  }
  Change said = coordinator_.next(
      {.waiting = fresh, .num_running = queue.num_running + num_begun, .num_free_slots = queue.num_free_slots});
  Change change{.is_last = said.is_last, .pauses = said.pauses};
  change.cancelled = std::exchange(ended_, {});
  for (const int64_t request : said.cancelled) cancel(request, change);
  for (GenerationRequest& asked : said.requests) start(std::move(asked), change);
  if (!change.is_last && !change.pauses) hear_answers(change);
  if (queue.is_idle() && change.requests.empty() && !waiting_.empty() && !change.is_last && mesh_.is_leader())
    game_.pool.wait(kAnswerWait_s);
  return change;
}

void TurnSource::start(GenerationRequest asked, Change& change) {
  const int64_t request = std::ssize(requests_);
  requests_.push_back({.asked = asked});
  if (!is_played(request)) return send(request, std::move(asked), change);
  const auto [found, is_new] = open_.try_emplace(coordinator_.sample(first_ + request));
  Trajectory& its = found->second;
  if (is_new) begin(request, its);
  if (its.awaits_answer) return waiting_.push_back(request);  // a pause came in between
  draw_turn(request, change);
}

void TurnSource::begin(int64_t request, Trajectory& its) {
  const std::string observation = row(request).raw.at("observation").get<std::string>();
  const auto seed = row(request).raw.at("seed").get<uint64_t>();
  its.observation = observation;
  its.awaits_answer = is_agent(request);
  if (!mesh_.is_leader()) return;
  const std::string& tag = row(request).domain;
  its.session =
      its.awaits_answer
          ? game_.pool.begin(tag, {.seed = seed,
                                   .response_length = limits_.response_length,
                                   .sampling = requests_[request].asked.generating.value_or(limits_.generating)})
          : game_.pool.begin(tag, seed, observation);
}

/// Prompt of the current turn's context.
const std::vector<int64_t>& TurnSource::prompt(int64_t request) {
  const Trajectory& its = trajectory(request);
  return its.prompt.empty() ? row(request).prompt_ids : its.prompt;
}

/// Most tokens that the next turn may have.
int64_t TurnSource::room(int64_t request) {
  if (has_contexts(request)) return limits_.sequence_length - std::ssize(prompt(request));
  return limits_.response_length - std::ssize(trajectory(request).said.ids);
}

void TurnSource::send(int64_t request, GenerationRequest asked, Change& change) {
  requests_[request].in_engine = std::ssize(owners_);
  owners_.push_back(request);
  change.requests.push_back(std::move(asked));
}

/// Sends the next turn to the engine, or the rest of one that was paused.
void TurnSource::draw_turn(int64_t request, Change& change) {
  const Trajectory& its = trajectory(request);
  GenerationRequest asked = requests_[request].asked;
  SamplingSettings generating = asked.generating.value_or(limits_.generating);
  int64_t most = std::min({room(request), generating.max_new_tokens, environment(request).max_tokens_per_step});
  if (its.agent) {
    asked.prompt_ids = its.agent->prompt_ids;
    asked.seed = its.agent->seed;
    generating.stop_strings = its.agent->stop_strings;
    generating.include_stop_str_in_output = its.agent->include_stop_str_in_output;
    generating.skip_special_tokens = its.agent->skip_special_tokens;
    most = std::min(most, its.agent->max_new_tokens);
  }
  const int64_t num_said = std::ssize(its.said.ids);
  if (has_contexts(request)) {
    asked.prompt_ids = prompt(request);
    asked.first_position = num_said;
    asked.begun = rest_behind(asked.begun, num_said);
  } else {
    asked.num_given = num_said;
    if (std::ssize(asked.begun.ids) <= num_said) asked.begun = its.said;
  }
  generating.max_new_tokens = asked.num_given + most;
  asked.generating = std::move(generating);
  requests_[request].asked.begun = {};
  send(request, std::move(asked), change);
}

void TurnSource::generated(int64_t served, const Generation& generation) {
  const int64_t request = owners_.at(served);
  if (!is_played(request)) {
    requests_[request].is_over = true;
    return on_over_(first_ + request, generation, nullptr);
  }
  Trajectory& its = trajectory(request);
  const int64_t num_given = std::ssize(its.said.ids);
  const std::string message = generation.text;
  if (has_contexts(request)) {
    append(its.said, generation, std::ssize(prompt(request)));
  } else {
    ROLL_CHECK(std::equal(its.said.ids.begin(), its.said.ids.end(), generation.ids.begin()),
               "tokens stay as they were drawn");
    its.said = generation;
  }
  its.said.text = message;
  its.turns.push_back({.num_tokens = std::ssize(its.said.ids) - num_given,
                       .state = state_of(its.observation),
                       .is_fresh = !its.prompt.empty()});
  ended_.push_back(served);
  requests_[request].in_engine = -1;
  if (its.failed) return finish(request);
  its.awaits_answer = true;
  waiting_.push_back(request);
  if (!mesh_.is_leader()) return;
  if (its.agent)
    game_.pool.sessions(its.session).hear_turn(its.session, generation, its.turns);
  else
    game_.pool.step(its.session, message);
}

void TurnSource::drew(int64_t served, const Generation& so_far) {
  const int64_t request = owners_.at(served);
  if (!mesh_.is_leader() || !is_agent(request)) return;
  const Trajectory& its = trajectory(request);
  if (!its.failed) game_.pool.sessions(its.session).hear_token(its.session, so_far);
}

/// Handles new answers of environments. **Collective** over the group if requests wait.
void TurnSource::hear_answers(Change& change) {
  if (waiting_.empty()) return;
  std::map<int64_t, TurnAnswer> answers;
  if (mesh_.is_leader())
    for (const int64_t request : waiting_)
      if (auto answer = game_.pool.take(trajectory(request).session)) {
        const auto& most = environment(request).max_seconds;
        answer->is_late = most && trajectory(request).watch.seconds() > *most;
        answers[request] = std::move(*answer);
      }
  if (mesh_.tp().communicates()) {
    EnvironmentAnswers message;
    for (const auto& [request, answer] : answers) message.answers.push_back(told(request, answer));
    message = broadcast_message(message, 0, mesh_.tp());
    answers.clear();
    for (const auto& answer : message.answers) answers[answer.request] = heard(answer);
  }
  for (auto& [request, answer] : answers) {
    std::erase(waiting_, request);
    hear(request, std::move(answer), change);
  }
}

void TurnSource::hear(int64_t request, TurnAnswer answer, Change& change) {
  Trajectory& its = trajectory(request);
  const EnvironmentConfig& config = environment(request);
  its.awaits_answer = false;
  if (answer.agent) go_back_to(its, *answer.agent);
  if (answer.fault) {
    its.failed = std::move(answer);
    if (!its.turns.empty()) return finish(request);
    if (its.agent) its.agent->max_new_tokens = 1;  // a trajectory needs a token
    return draw_turn(request, change);
  }
  if (answer.agent && !answer.reaction.is_done) {
    requests_[request].asked.begun = {};  // may belong to an abandoned branch
    return draw_turn(request, change);
  }
  const Reaction& reaction = answer.reaction;
  its.turns.back().reward = as_written(reaction.reward);
  its.turns.back().is_valid = reaction.is_valid;
  its.succeeded = reaction.succeeded;
  if (reaction.tools) {
    its.tools = its.tools.value_or(ToolCounts{});
    its.tools->calls += reaction.tools->calls;
    its.tools->errors += reaction.tools->errors;
  }
  its.is_done = reaction.is_done;
  if (its.is_done) return finish(request);
  if (std::ssize(its.turns) >= config.max_steps) {
    its.cut = TrajectoryCut::kTurns;
    return finish(request);
  }
  const bool is_anew = has_contexts(request);
  const std::vector<int64_t> ids = is_anew ? prompt_of_turn(request, reaction) : between_turns(request, reaction);
  if (std::ssize(ids) >= (is_anew ? limits_.sequence_length : room(request)))
    its.cut = TrajectoryCut::kTokens;
  else if (answer.is_late)
    its.cut = TrajectoryCut::kTime;
  if (its.cut) return finish(request);
  if (is_anew) its.prompt = ids;
  append(its.said, ids);
  its.turns.back().num_environment_tokens = std::ssize(ids);
  its.observation = reaction.observation;
  draw_turn(request, change);
}

/// Returns the tokens after the last turn, with the environment's answer.
std::vector<int64_t> TurnSource::between_turns(int64_t request, const Reaction& reaction) {
  Trajectory& its = trajectory(request);
  const Json answer =
      messages_between(environment(request), reaction, std::ssize(its.turns), its.said.text, row(request).tools);
  const Json variables = tool_variables(row(request).tools);
  const auto ids = game_.tokens.behind({*row(request).messages, variables, its.answers}, answer, its.said.ids.back());
  its.answers.push_back(answer);
  return ids;
}

/// Returns the prompt of the next turn, if each turn has its own context.
std::vector<int64_t> TurnSource::prompt_of_turn(int64_t request, const Reaction& reaction) {
  Trajectory& its = trajectory(request);
  const auto harmless = [&](const std::string& text) { return game_.tokens.disarmed(text); };
  its.past.push_back({.observation = harmless(its.observation),
                      .action = harmless(reaction.action.empty() ? its.said.text : reaction.action),
                      .is_valid = reaction.is_valid,
                      .reward = reaction.reward});
  const auto instruction = row(request).raw.at("instruction").get<std::string>();
  return game_.tokens.prompt(
      messages_of_turn(environment(request), {instruction, harmless(reaction.observation)}, its.past));
}

void TurnSource::finish(int64_t request) {
  const auto found = open_.find(coordinator_.sample(first_ + request));
  Trajectory its = std::move(found->second);
  open_.erase(found);
  requests_[request].is_over = true;
  if (mesh_.is_leader()) game_.pool.end(its.session);
  its.said.finish_reason = its.is_done ? FinishReason::kStop : its.cut ? FinishReason::kLength : FinishReason::kAbort;
  on_over_(first_ + request, its.said, &its);
}

void TurnSource::cancel(int64_t request, Change& change) {
  Request& its = requests_.at(request);
  if (its.in_engine >= 0) change.cancelled.push_back(std::exchange(its.in_engine, -1));
  if (!is_played(request) || std::exchange(its.is_over, true)) return;
  std::erase(waiting_, request);
  const auto found = open_.find(coordinator_.sample(first_ + request));
  if (mesh_.is_leader()) game_.pool.end(found->second.session);
  open_.erase(found);
}

std::vector<Generation> TurnSource::by_request(std::vector<Generation> generations) {
  std::vector<Generation> all(requests_.size());
  for (int64_t request = 0; request < std::ssize(requests_); ++request) {
    const Request& its = requests_[request];
    if (its.in_engine >= 0 && !has_contexts(request)) {
      all[request] = std::move(generations.at(its.in_engine));
    } else if (!its.is_over) {
      all[request] = trajectory(request).said;
      if (its.in_engine >= 0) append(all[request], generations.at(its.in_engine), std::ssize(prompt(request)));
    }
    if (is_played(request)) all[request].finish_reason = its.is_over ? FinishReason::kStop : FinishReason::kAbort;
  }
  return all;
}

}  // namespace roll
