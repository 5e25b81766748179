#include "collect/agent_sessions.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.h"
#include "base/random.h"

namespace roll {

namespace {

constexpr size_t kMaxQueuedTurns = 64;    // queued turns per session
constexpr int64_t kMaxDrawsPerTurn = 16;  // a mean: the limit for a session is max_steps times this
constexpr double kStartTimeoutFactor =
    10;  // times timeout_s, within which an agent must take a session: programs start slowly
constexpr int64_t kMaxRefusals = 20;  // rejected requests per session
constexpr const char* kSessionOver = "the session is over";

void require_same(const Json& given, const char* key, double value) {
  const auto found = given.find(key);
  if (found == given.end() || *found == value) return;
  throw user_error("{} = {}: must be {:g}, as in the run's settings, because training assumes it; leave it out", key,
                   to_line(*found), value);
}

/// Rejects sampling settings other than the configured ones: gradients assume that distribution.
void check_sampling(const CompletionRequest& request, const SamplingSettings& configured) {
  for (const auto& [key, value] : {std::pair<const char*, double>("temperature", configured.temperature),
                                   {"top_p", configured.top_p},
                                   {"min_p", configured.min_p},
                                   {"repetition_penalty", configured.repetition_penalty},
                                   {"presence_penalty", configured.presence_penalty},
                                   {"frequency_penalty", configured.frequency_penalty}})
    require_same(request.given, key, value);
  if (request.given.value("top_k", Json()) != -1 || configured.top_k != 0)
    require_same(request.given, "top_k", static_cast<double>(configured.top_k));
  if (!request.sampling.logit_bias.empty())
    throw UserError("logit_bias: is not allowed, because training assumes sampling without it; leave it out");
}

/// Seed of a draw that is not the first at its place, or whose request has a seed.
uint64_t draw_seed(uint64_t session_seed, uint64_t request_seed, bool has_request_seed, int64_t number) {
  return random_bits({.seed = session_seed ^ request_seed,
                      .purpose = Purpose::kRetry,
                      .step = has_request_seed ? 1U : 0U,
                      .sequence = static_cast<uint64_t>(number)});
}

double parse_reward(const Json& body) {
  if (!body.is_object()) throw UserError("the body: must be {\"reward\": number[, \"success\": true or false]}");
  for (const auto& [key, value] : body.items())
    if (key != "reward" && key != "success")
      throw user_error("{}: is not a known field; the fields are reward and success", key);
  const Json reward = body.value("reward", Json());
  if (!reward.is_number() || !(std::abs(reward.get<double>()) <= kLargestTurnReward))
    throw user_error("reward = {}: must be a number within +-{}", to_line(reward), kLargestTurnReward);
  return reward.get<double>();
}

std::optional<bool> parse_success(const Json& body) {
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
    return sessions_.submit(id_, request);
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
  trajectory_by_id_[id] = number;
  if (untaken_.empty()) since_free_.restart();
  untaken_.push_back(number);
  has_session_.notify_one();
}

std::optional<TurnAnswer> AgentSessions::next(int64_t number) {
  const std::lock_guard lock(mutex_);
  Session& session = sessions_.at(number);
  if (session.ending) return session.ending;
  if (!session.waiting.empty()) return start_draw(session);
  check_time_limits(session);
  return session.ending;
}

TurnAnswer AgentSessions::start_draw(Session& session) const {
  Draw& draw = session.current_draw.emplace(std::move(session.waiting.front()));
  session.waiting.pop_front();
  AgentTurn turn = session.nodes.at(draw.branch_point.node).so_far;
  const auto& added_ids = draw.branch_point.added_ids;
  turn.ids.insert(turn.ids.end(), added_ids.begin(), added_ids.end());
  turn.log_probs.resize(turn.ids.size());
  if (!turn.turns.empty()) turn.turns.back().num_environment_tokens = std::ssize(added_ids);
  draw.num_earlier_tokens = std::ssize(turn.ids);
  const SamplingSettings& sampling = draw.request->sampling;
  turn.max_new_tokens = sampling.max_new_tokens;
  turn.stop_strings = sampling.stop_strings;
  turn.include_stop_str_in_output = sampling.include_stop_str_in_output;
  turn.skip_special_tokens = sampling.skip_special_tokens;
  turn.seed = draw.seed;
  return {.agent = std::move(turn)};
}

void AgentSessions::check_time_limits(Session& session) {
  const double limit_s = rules_.environment.env_config.timeout_s;
  const auto& longest_s = rules_.environment.max_seconds;
  if (!session.is_taken) {
    if (num_playing_ == 0 && since_free_.seconds() > kStartTimeoutFactor * limit_s)
      fail(session, EnvironmentFault::kTimeout,
           fmt::format("found no agent for its session within {:g} s", kStartTimeoutFactor * limit_s));
  } else if (session.since_contact.seconds() > limit_s) {
    fail(session, EnvironmentFault::kTimeout, fmt::format("got no request from its agent for {:g} s", limit_s));
  } else if (longest_s && session.since_taken.seconds() > *longest_s) {
    fail(session, EnvironmentFault::kTimeout, fmt::format("took longer than max_seconds = {:g}", *longest_s));
  }
}

void AgentSessions::stream_tokens(int64_t number, const Generation& so_far) {
  const std::lock_guard lock(mutex_);
  Session& session = sessions_.at(number);
  if (!session.current_draw || !session.current_draw->answer->streams_tokens()) return;
  Draw& draw = *session.current_draw;
  const int64_t from = draw.num_earlier_tokens + draw.num_streamed;
  if (std::ssize(so_far.ids) <= from) return;
  draw.num_streamed = std::ssize(so_far.ids) - draw.num_earlier_tokens;
  draw.answer->put({.choice = draw.choice,
                    .ids = {so_far.ids.begin() + from, so_far.ids.end()},
                    .log_probs = {so_far.log_probs.begin() + from, so_far.log_probs.end()},
                    .ended = {}});
}

void AgentSessions::finish_turn(int64_t number, const Generation& generation, const std::vector<Turn>& turns) {
  const std::lock_guard lock(mutex_);
  Session& session = sessions_.at(number);
  session.since_contact.restart();
  if (!session.current_draw) return;
  const Draw draw = *std::exchange(session.current_draw, std::nullopt);
  if (session.ending) return draw.answer->fail(kSessionOver);
  if (generation.finish_reason == FinishReason::kAbort) return draw.answer->fail("the run stops");
  AgentNode node = next_node(session.nodes.at(draw.branch_point.node), draw.branch_point, *draw.request,
                             generation.text, rules_.environment.env_config.tool_calls);
  node.so_far = {.prompt_ids = session.nodes.front().so_far.prompt_ids,
                 .ids = generation.ids,
                 .log_probs = generation.log_probs,
                 .turns = turns};
  session.last_node = session.nodes.size();
  session.nodes.push_back(std::move(node));
  draw.answer->put({.choice = draw.choice,
                    .ids = {},
                    .log_probs = {},
                    .ended = Generation{.ids = {generation.ids.begin() + draw.num_earlier_tokens, generation.ids.end()},
                                        .log_probs = {generation.log_probs.begin() + draw.num_earlier_tokens,
                                                      generation.log_probs.end()},
                                        .processed_log_probs = {},
                                        .finish_reason = generation.finish_reason,
                                        .text = generation.text}});
}

void AgentSessions::end(int64_t number) {
  const std::lock_guard lock(mutex_);
  Session& session = sessions_.at(number);
  if (!session.ending) end_with(session, {});
  if (session.current_draw) session.current_draw->answer->fail(kSessionOver);
  trajectory_by_id_.erase(session.id);
  sessions_.erase(number);
}

void AgentSessions::end_with(Session& session, TurnAnswer ending) {
  if (session.is_taken) --num_playing_;
  std::erase(untaken_, trajectory_by_id_.at(session.id));
  since_free_.restart();
  if (!session.nodes.empty()) ending.agent = session.nodes.at(session.last_node).so_far;
  session.ending = std::move(ending);
  for (const Draw& draw : std::exchange(session.waiting, {})) draw.answer->fail(kSessionOver);
}

void AgentSessions::fail(Session& session, EnvironmentFault fault, const std::string& why) {
  if (session.is_taken && !session.agent_name.empty()) failed_agents_.insert(session.agent_name);
  end_with(session, {.fault = fault, .why = why});
}

bool AgentSessions::must_stop(const std::string& agent_name) {
  const std::lock_guard lock(mutex_);
  return failed_agents_.contains(agent_name);
}

bool AgentSessions::agent_ended(const std::string& agent_name, const std::string& why) {
  const std::lock_guard lock(mutex_);
  for (auto& [number, session] : sessions_)
    if (session.is_taken && session.agent_name == agent_name && !session.ending)
      fail(session, EnvironmentFault::kCrash, why);
  failed_agents_.erase(agent_name);
  return num_taken_by_agent_.erase(agent_name) > 0;
}

void AgentSessions::fail_untaken(EnvironmentFault fault, const std::string& why) {
  const std::lock_guard lock(mutex_);
  for (const int64_t number : std::deque(untaken_)) fail(sessions_.at(number), fault, why);
}

void AgentSessions::close() {
  const std::lock_guard lock(mutex_);
  close_reason_ = "the run is over";
  for (auto& [number, session] : sessions_) {
    for (const Draw& draw : session.waiting) draw.answer->fail(close_reason_);
    if (session.current_draw) session.current_draw->answer->fail(close_reason_);
  }
  has_session_.notify_all();
}

std::optional<Json> AgentSessions::take(const std::string& agent_name, std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  has_session_.wait_for(lock, patience, [&] { return !untaken_.empty() || !close_reason_.empty(); });
  if (!close_reason_.empty()) throw Unavailable(close_reason_);
  if (untaken_.empty() || failed_agents_.contains(agent_name)) return std::nullopt;
  Session& session = sessions_.at(untaken_.front());
  untaken_.pop_front();
  since_free_.restart();
  session.is_taken = true;
  session.agent_name = agent_name;
  session.since_taken.restart();
  session.since_contact.restart();
  ++num_playing_;
  ++num_taken_by_agent_[agent_name];
  Json config = Json::object();
  for (const auto& [key, value] : rules_.environment.env_config.config) config[key] = value;
  return Json{{"id", session.id}, {"seed", session.terms.seed}, {"config", std::move(config)}};
}

void AgentSessions::give_back(const std::string& id) {
  const std::lock_guard lock(mutex_);
  Session* const session = find_taken(id);
  if (!session) return;
  --num_playing_;
  if (--num_taken_by_agent_[session->agent_name] == 0) num_taken_by_agent_.erase(session->agent_name);
  session->is_taken = false;
  session->agent_name.clear();
  untaken_.push_front(trajectory_by_id_.at(id));
  has_session_.notify_one();
}

AgentSessions::Session* AgentSessions::find_taken(const std::string& id) {
  const auto found = trajectory_by_id_.find(id);
  if (found == trajectory_by_id_.end()) return nullptr;
  Session& session = sessions_.at(found->second);
  return session.ending ? nullptr : &session;
}

std::shared_ptr<CompletionSink> AgentSessions::find(const std::string& id, const std::string& agent_name) {
  const std::lock_guard lock(mutex_);
  const Session* const session = find_taken(id);
  return session && session->agent_name == agent_name ? std::make_shared<Sink>(*this, id) : nullptr;
}

bool AgentSessions::end(const std::string& id, const std::string& agent_name, const Json& body) {
  const std::lock_guard lock(mutex_);
  Session* const session = find_taken(id);
  if (!session || session->agent_name != agent_name) return false;
  if (session->last_node == 0) throw UserError("reward: this session has no completion yet; ask for one first");
  end_with(*session, {.reaction = {.reward = parse_reward(body), .is_done = true, .succeeded = parse_success(body)}});
  return true;
}

std::shared_ptr<PendingAnswer> AgentSessions::submit(const std::string& id,
                                                     const std::shared_ptr<const CompletionRequest>& request) {
  const std::lock_guard lock(mutex_);
  Session* const session = find_taken(id);
  if (!close_reason_.empty()) throw Unavailable(close_reason_);
  if (!session) throw UserError(kSessionOver);
  if (session->waiting.size() + static_cast<size_t>(request->num_choices) > kMaxQueuedTurns) return nullptr;
  auto answer = std::make_shared<PendingAnswer>(request->streams);
  try {
    queue_draws(*session, request, answer);
  } catch (const UserError& error) {
    if (++session->num_refused > kMaxRefusals)
      fail(*session, EnvironmentFault::kProtocol,
           fmt::format("got more than {} invalid requests from its agent; the last error: {}", kMaxRefusals,
                       error.what()));
    throw;
  }
  session->since_contact.restart();
  return answer;
}

void AgentSessions::queue_draws(Session& session, const std::shared_ptr<const CompletionRequest>& shared_request,
                                const std::shared_ptr<PendingAnswer>& answer) {
  const CompletionRequest& request = *shared_request;
  if (request.prompts.size() != 1)
    throw user_error("prompt: has {} prompts; a request of a session must have one", request.prompts.size());
  check_sampling(request, session.terms.sampling);
  const bool is_first = session.nodes.empty();
  std::vector<AgentNode> new_tree;
  if (is_first) new_tree.push_back(first_node(request));
  const BranchPoint branch_point =
      find_branch_point(is_first ? new_tree : session.nodes, request, rules_.tokens, rules_.tokenizer);
  if (is_first && std::ssize(request.prompts[0]) > rules_.prompt_length)
    throw user_error("{}: has {} tokens; the first request of a session may have at most prompt_length = {}",
                     request.kind == CompletionKind::kChat ? "messages" : "prompt", request.prompts[0].size(),
                     rules_.prompt_length);
  if (is_first) session.nodes = std::move(new_tree);
  check_branch_point(session, branch_point);
  session.num_draws += request.num_choices;
  if (session.num_draws > kMaxDrawsPerTurn * rules_.environment.max_steps) {
    fail(session, EnvironmentFault::kFlood,
         fmt::format("got requests for more than {} turns from its agent", session.num_draws - 1));
    throw UserError(kSessionOver);
  }
  for (int64_t choice = 0; choice < request.num_choices; ++choice) {
    const int64_t num_earlier_draws = session.nodes[branch_point.node].num_draws[branch_point.added_ids]++;
    Draw draw{.answer = answer,
              .request = shared_request,
              .choice = static_cast<size_t>(choice),
              .branch_point = branch_point};
    if (request.seed || num_earlier_draws > 0)
      draw.seed = draw_seed(session.terms.seed, request.seed.value_or(0), request.seed.has_value(),
                            request.seed ? choice : num_earlier_draws);
    session.waiting.push_back(std::move(draw));
  }
}

void AgentSessions::check_branch_point(const Session& session, const BranchPoint& branch_point) const {
  const AgentTurn& before = session.nodes.at(branch_point.node).so_far;
  if (std::ssize(before.turns) >= rules_.environment.max_steps)
    throw user_error("the session has reached max_steps = {} turns; post its reward", rules_.environment.max_steps);
  if (std::ssize(before.ids) + std::ssize(branch_point.added_ids) >= session.terms.response_length)
    throw user_error(
        "the session has {} tokens after its first request, which reaches response_length = {}; post its reward",
        before.ids.size() + branch_point.added_ids.size(), session.terms.response_length);
}

/// Removes queued turns only. A turn being sampled is finished, because other turns' tokens must not depend on it.
void AgentSessions::cancel(const std::string& id, const std::shared_ptr<PendingAnswer>& answer) {
  const std::lock_guard lock(mutex_);
  if (Session* const session = find_taken(id))
    std::erase_if(session->waiting, [&](const Draw& draw) { return draw.answer == answer; });
}

}  // namespace roll
