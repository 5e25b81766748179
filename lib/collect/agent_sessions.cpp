#include "collect/agent_sessions.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.h"
#include "base/random.h"

namespace roll {

namespace {

constexpr size_t kMostWaiting = 64;        // queued turns per session
constexpr int64_t kMostDrawsOfATurn = 16;  // a mean: the limit for a session is max_steps times this
constexpr double kStartTimes = 10;  // times timeout_s, within which an agent must take a session: programs start slowly
constexpr int64_t kMostRefused = 20;  // rejected requests per session
constexpr const char* kIsOver = "the session is over";

void require_same(const Json& given, const char* key, double value) {
  const auto found = given.find(key);
  if (found == given.end() || *found == value) return;
  throw user_error("{} = {}: the policy is trained as it is sampled, at {:g}; leave it out", key, to_line(*found),
                   value);
}

/// Rejects sampling settings other than the configured ones: gradients assume that distribution.
void check_sampling_of(const CompletionRequest& request, const SamplingSettings& own) {
  for (const auto& [key, value] : {std::pair<const char*, double>("temperature", own.temperature),
                                   {"top_p", own.top_p},
                                   {"min_p", own.min_p},
                                   {"repetition_penalty", own.repetition_penalty},
                                   {"presence_penalty", own.presence_penalty},
                                   {"frequency_penalty", own.frequency_penalty}})
    require_same(request.given, key, value);
  if (request.given.value("top_k", Json()) != -1 || own.top_k != 0)
    require_same(request.given, "top_k", static_cast<double>(own.top_k));
  if (!request.sampling.logit_bias.empty())
    throw UserError("logit_bias: the policy is trained as it is sampled, without one; leave it out");
}

/// Seed of a draw that is not the first at its place, or whose request has a seed.
uint64_t seed_of_draw(uint64_t session, uint64_t own, bool is_given, int64_t number) {
  return random_bits({.seed = session ^ own,
                      .purpose = Purpose::kRetry,
                      .step = is_given ? 1U : 0U,
                      .sequence = static_cast<uint64_t>(number)});
}

double reward_of(const Json& body) {
  if (!body.is_object()) throw UserError("the body: must be {\"reward\": number[, \"success\": true or false]}");
  for (const auto& [key, value] : body.items())
    if (key != "reward" && key != "success") throw user_error("{}: is not known; there are reward and success", key);
  const Json reward = body.value("reward", Json());
  if (!reward.is_number() || !(std::abs(reward.get<double>()) <= kLargestTurnReward))
    throw user_error("reward = {}: must be a number within +-{}", to_line(reward), kLargestTurnReward);
  return reward.get<double>();
}

std::optional<bool> success_of(const Json& body) {
  const Json success = body.value("success", Json());
  if (success.is_null()) return std::nullopt;
  if (!success.is_boolean()) throw user_error("success = {}: must be true or false", to_line(success));
  return success.get<bool>();
}

}  // namespace

class AgentSessions::Sink : public CompletionSink {
 public:
  Sink(AgentSessions& sessions, std::string id) : sessions_(sessions), id_(std::move(id)) {}
  std::shared_ptr<PendingAnswer> submit(std::shared_ptr<const CompletionRequest> request) override {
    return sessions_.submit(id_, std::move(request));
  }
  void cancel(const std::shared_ptr<PendingAnswer>& answer) override { sessions_.cancel(id_, answer); }

 private:
  AgentSessions& sessions_;
  const std::string id_;
};

AgentSessions::AgentSessions(SessionRules rules) : rules_(rules) {}
AgentSessions::~AgentSessions() = default;

void AgentSessions::begin(int64_t number, Terms terms) {
  const std::lock_guard lock(mutex_);
  std::random_device random;  // an agent of another run must not find a session under its old id
  const std::string id = fmt::format("{:08x}-{}", random(), number);
  sessions_[number] = {.id = id, .terms = std::move(terms)};
  by_id_[id] = number;
  if (untaken_.empty()) since_free_.restart();
  untaken_.push_back(number);
  has_session_.notify_one();
}

std::optional<TurnAnswer> AgentSessions::next(int64_t number) {
  const std::lock_guard lock(mutex_);
  Session& session = sessions_.at(number);
  if (session.ending) return session.ending;
  if (!session.waiting.empty()) return start_draw(session);
  look_for_silence(session);
  return session.ending;
}

TurnAnswer AgentSessions::start_draw(Session& session) const {
  Draw& draw = session.drawing.emplace(std::move(session.waiting.front()));
  session.waiting.pop_front();
  AgentTurn turn = session.nodes.at(draw.place.node).so_far;
  const auto& between = draw.place.between;
  turn.ids.insert(turn.ids.end(), between.begin(), between.end());
  turn.log_probs.resize(turn.ids.size());
  if (!turn.turns.empty()) turn.turns.back().num_environment_tokens = std::ssize(between);
  draw.num_given = std::ssize(turn.ids);
  const SamplingSettings& asked = draw.request->sampling;
  turn.max_new_tokens = asked.max_new_tokens;
  turn.stop_strings = asked.stop_strings;
  turn.include_stop_str_in_output = asked.include_stop_str_in_output;
  turn.skip_special_tokens = asked.skip_special_tokens;
  turn.seed = draw.seed;
  return {.agent = std::move(turn)};
}

void AgentSessions::look_for_silence(Session& session) {
  const double limit_s = rules_.environment.env_config.timeout_s;
  const auto& longest_s = rules_.environment.max_seconds;
  if (!session.is_taken) {
    if (num_playing_ == 0 && since_free_.seconds() > kStartTimes * limit_s)
      fail(session, EnvironmentFault::kTimeout,
           fmt::format("was taken by no agent within {:g} s", kStartTimes * limit_s));
  } else if (session.since_heard.seconds() > limit_s) {
    fail(session, EnvironmentFault::kTimeout, fmt::format("heard nothing of its agent for {:g} s", limit_s));
  } else if (longest_s && session.since_taken.seconds() > *longest_s) {
    fail(session, EnvironmentFault::kTimeout, fmt::format("took longer than max_seconds = {:g}", *longest_s));
  }
}

void AgentSessions::hear_token(int64_t number, const Generation& so_far) {
  const std::lock_guard lock(mutex_);
  Session& session = sessions_.at(number);
  if (!session.drawing || !session.drawing->answer->hears_tokens()) return;
  Draw& draw = *session.drawing;
  const int64_t from = draw.num_given + draw.num_heard;
  if (std::ssize(so_far.ids) <= from) return;
  draw.num_heard = std::ssize(so_far.ids) - draw.num_given;
  draw.answer->put({.choice = draw.choice,
                    .ids = {so_far.ids.begin() + from, so_far.ids.end()},
                    .log_probs = {so_far.log_probs.begin() + from, so_far.log_probs.end()},
                    .ended = {}});
}

void AgentSessions::hear_turn(int64_t number, const Generation& said, const std::vector<Turn>& turns) {
  const std::lock_guard lock(mutex_);
  Session& session = sessions_.at(number);
  session.since_heard.restart();
  if (!session.drawing) return;
  const Draw draw = *std::exchange(session.drawing, std::nullopt);
  if (session.ending) return draw.answer->fail(kIsOver);
  if (said.finish_reason == FinishReason::kAbort) return draw.answer->fail("the run stops");
  AgentNode node = next_node(session.nodes.at(draw.place.node), draw.place, *draw.request, said.text,
                             rules_.environment.env_config.tool_calls);
  node.so_far = {.prompt_ids = session.nodes.front().so_far.prompt_ids,
                 .ids = said.ids,
                 .log_probs = said.log_probs,
                 .turns = turns};
  session.last = session.nodes.size();
  session.nodes.push_back(std::move(node));
  draw.answer->put({.choice = draw.choice,
                    .ids = {},
                    .log_probs = {},
                    .ended = Generation{.ids = {said.ids.begin() + draw.num_given, said.ids.end()},
                                        .log_probs = {said.log_probs.begin() + draw.num_given, said.log_probs.end()},
                                        .processed_log_probs = {},
                                        .finish_reason = said.finish_reason,
                                        .text = said.text}});
}

void AgentSessions::end(int64_t number) {
  const std::lock_guard lock(mutex_);
  Session& session = sessions_.at(number);
  if (!session.ending) end_with(session, {});
  if (session.drawing) session.drawing->answer->fail(kIsOver);
  by_id_.erase(session.id);
  sessions_.erase(number);
}

void AgentSessions::end_with(Session& session, TurnAnswer ending) {
  if (session.is_taken) --num_playing_;
  std::erase(untaken_, by_id_.at(session.id));
  since_free_.restart();
  if (!session.nodes.empty()) ending.agent = session.nodes.at(session.last).so_far;
  session.ending = std::move(ending);
  for (const Draw& draw : std::exchange(session.waiting, {})) draw.answer->fail(kIsOver);
}

void AgentSessions::fail(Session& session, EnvironmentFault fault, const std::string& why) {
  if (session.is_taken && !session.who.empty()) failed_.insert(session.who);
  end_with(session, {.fault = fault, .why = why});
}

bool AgentSessions::is_to_end(const std::string& who) {
  const std::lock_guard lock(mutex_);
  return failed_.contains(who);
}

bool AgentSessions::agent_ended(const std::string& who, const std::string& why) {
  const std::lock_guard lock(mutex_);
  for (auto& [number, session] : sessions_)
    if (session.is_taken && session.who == who && !session.ending) fail(session, EnvironmentFault::kCrash, why);
  failed_.erase(who);
  return num_taken_.erase(who) > 0;
}

void AgentSessions::fail_untaken(EnvironmentFault fault, const std::string& why) {
  const std::lock_guard lock(mutex_);
  for (const int64_t number : std::deque(untaken_)) fail(sessions_.at(number), fault, why);
}

void AgentSessions::close() {
  const std::lock_guard lock(mutex_);
  closed_ = "the run is over";
  for (auto& [number, session] : sessions_) {
    for (const Draw& draw : session.waiting) draw.answer->fail(closed_);
    if (session.drawing) session.drawing->answer->fail(closed_);
  }
  has_session_.notify_all();
}

std::optional<Json> AgentSessions::take(const std::string& who, std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  has_session_.wait_for(lock, patience, [&] { return !untaken_.empty() || !closed_.empty(); });
  if (!closed_.empty()) throw Unavailable(closed_);
  if (untaken_.empty() || failed_.contains(who)) return std::nullopt;
  Session& session = sessions_.at(untaken_.front());
  untaken_.pop_front();
  since_free_.restart();
  session.is_taken = true;
  session.who = who;
  session.since_taken.restart();
  session.since_heard.restart();
  ++num_playing_;
  ++num_taken_[who];
  Json config = Json::object();
  for (const auto& [key, value] : rules_.environment.env_config.config) config[key] = value;
  return Json{{"id", session.id}, {"seed", session.terms.seed}, {"config", std::move(config)}};
}

void AgentSessions::give_back(const std::string& id) {
  const std::lock_guard lock(mutex_);
  Session* const session = taken(id);
  if (!session) return;
  --num_playing_;
  if (--num_taken_[session->who] == 0) num_taken_.erase(session->who);
  session->is_taken = false;
  session->who.clear();
  untaken_.push_front(by_id_.at(id));
  has_session_.notify_one();
}

AgentSessions::Session* AgentSessions::taken(const std::string& id) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return nullptr;
  Session& session = sessions_.at(found->second);
  return session.ending ? nullptr : &session;
}

std::shared_ptr<CompletionSink> AgentSessions::find(const std::string& id, const std::string& who) {
  const std::lock_guard lock(mutex_);
  const Session* const session = taken(id);
  return session && session->who == who ? std::make_shared<Sink>(*this, id) : nullptr;
}

bool AgentSessions::end(const std::string& id, const std::string& who, const Json& body) {
  const std::lock_guard lock(mutex_);
  Session* const session = taken(id);
  if (!session || session->who != who) return false;
  if (session->last == 0) throw UserError("reward: nothing was drawn in this session; ask for a completion first");
  end_with(*session, {.reaction = {.reward = reward_of(body), .is_done = true, .succeeded = success_of(body)}});
  return true;
}

std::shared_ptr<PendingAnswer> AgentSessions::submit(const std::string& id,
                                                     std::shared_ptr<const CompletionRequest> request) {
  const std::lock_guard lock(mutex_);
  Session* const session = taken(id);
  if (!closed_.empty()) throw Unavailable(closed_);
  if (!session) throw UserError(kIsOver);
  if (session->waiting.size() + static_cast<size_t>(request->num_choices) > kMostWaiting) return nullptr;
  auto answer = std::make_shared<PendingAnswer>(request->streams);
  try {
    add_draws(*session, request, answer);
  } catch (const UserError& error) {
    if (++session->num_refused > kMostRefused)
      fail(*session, EnvironmentFault::kProtocol,
           fmt::format("was asked {} times for what it cannot do; the last: {}", kMostRefused, error.what()));
    throw;
  }
  session->since_heard.restart();
  return answer;
}

void AgentSessions::add_draws(Session& session, const std::shared_ptr<const CompletionRequest>& asked,
                              const std::shared_ptr<PendingAnswer>& answer) {
  const CompletionRequest& request = *asked;
  if (request.prompts.size() != 1)
    throw user_error("prompt: has {} prompts; a session takes one", request.prompts.size());
  check_sampling_of(request, session.terms.sampling);
  const bool is_first = session.nodes.empty();
  std::vector<AgentNode> begun;
  if (is_first) begun.push_back(first_node(request));
  const AgentPlace place = find_agent_place(is_first ? begun : session.nodes, request, rules_.tokens, rules_.tokenizer);
  if (is_first && std::ssize(request.prompts[0]) > rules_.prompt_length)
    throw user_error("{}: has {} tokens; prompt_length = {} is the most with which a session begins",
                     request.kind == CompletionKind::kChat ? "messages" : "prompt", request.prompts[0].size(),
                     rules_.prompt_length);
  if (is_first) session.nodes = std::move(begun);
  check_place(session, place);
  session.num_draws += request.num_choices;
  if (session.num_draws > kMostDrawsOfATurn * rules_.environment.max_steps) {
    fail(session, EnvironmentFault::kFlood, fmt::format("was asked for more than {} turns", session.num_draws - 1));
    throw UserError(kIsOver);
  }
  for (int64_t choice = 0; choice < request.num_choices; ++choice) {
    const int64_t earlier = session.nodes[place.node].num_draws[place.between]++;
    Draw draw{.answer = answer, .request = asked, .choice = static_cast<size_t>(choice), .place = place};
    if (request.seed || earlier > 0)
      draw.seed = seed_of_draw(session.terms.seed, request.seed.value_or(0), request.seed.has_value(),
                               request.seed ? choice : earlier);
    session.waiting.push_back(std::move(draw));
  }
}

void AgentSessions::check_place(const Session& session, const AgentPlace& place) const {
  const AgentTurn& before = session.nodes.at(place.node).so_far;
  if (std::ssize(before.turns) >= rules_.environment.max_steps)
    throw user_error("the session has had its max_steps = {} turns; post its reward", rules_.environment.max_steps);
  if (std::ssize(before.ids) + std::ssize(place.between) >= session.terms.response_length)
    throw user_error(
        "the session has {} tokens behind its first request, and response_length = {} is its most; post its reward",
        before.ids.size() + place.between.size(), session.terms.response_length);
}

/// Removes queued turns only. A turn being sampled is finished, because other turns' tokens must not depend on it.
void AgentSessions::cancel(const std::string& id, const std::shared_ptr<PendingAnswer>& answer) {
  const std::lock_guard lock(mutex_);
  if (Session* const session = taken(id))
    std::erase_if(session->waiting, [&](const Draw& draw) { return draw.answer == answer; });
}

}  // namespace roll
