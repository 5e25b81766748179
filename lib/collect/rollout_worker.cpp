#include "collect/rollout_worker.h"

#include <algorithm>
#include <iterator>

#include "base/clock.h"
#include "base/error.h"
#include "dist/messages.h"
#include "process/stop.h"
#include "records/messages.h"
#include "reward/reward.h"
#include "track/progress.h"

namespace roll {

RolloutWorker::RolloutWorker(const RewardsByDomain& rewards, int64_t response_length, RewardModels& models,
                             RoleMesh& ranks, Log& log, Games games, const Tokenizer* tokenizer)
    : models_(models),
      ranks_(ranks),
      mesh_(ranks.mesh()),
      log_(log),
      rewards_(rewards, response_length, mesh_.dp_size(), &log),
      games_(std::move(games)) {
  if (!games_.environments.empty()) pool_ = make_pool(*tokenizer, response_length);
  for (const auto& [domain, reward] : rewards) domains_.push_back(domain);
}

std::unique_ptr<EnvironmentPool> RolloutWorker::make_pool(const Tokenizer& tokenizer, int64_t response_length) {
  EnvironmentPool::Agents agents;
  for (const auto& [tag, environment] : games_.environments)
    if (environment.env_type->is_agent && mesh_.is_leader())
      agents[tag] = std::make_unique<AgentHost>(tag, environment,
                                                AgentPolicy{.chat_template = games_.chat_template.value(),
                                                            .tokenizer = tokenizer,
                                                            .tokens = games_.tokens.value(),
                                                            .prompt_length = games_.prompt_length,
                                                            .response_length = response_length},
                                                mesh_.dp().rank(), log_);
  return std::make_unique<EnvironmentPool>(games_.environments, std::move(agents));
}

/// Paused trajectories keep their environments: a validation in the same pool would wait for ever.
EnvironmentPool& RolloutWorker::pool_for(const RolloutRequest& request, const Tokenizer& tokenizer) {
  const bool is_shared = std::ranges::any_of(games_.environments, [](const auto& entry) {
    const EnvironmentArgs& args = entry.second.env_config;
    return entry.second.env_type->is_agent && (args.command.empty() || args.port != 0);
  });
  if (request.sampling.purpose != Purpose::kValidate || is_shared || !pool_->is_busy()) return *pool_;
  if (!validation_pool_) validation_pool_ = make_pool(tokenizer, request.response_length);
  return *validation_pool_;
}

namespace {

std::vector<Prompt> make_prompts(const std::vector<std::shared_ptr<const Row>>& rows, uint64_t first) {
  std::vector<Prompt> prompts;
  for (const auto& row : rows) prompts.push_back({.row = row, .number = first + prompts.size()});
  return prompts;
}

SamplingSettings greedy(SamplingSettings settings) {
  settings.temperature = 0;
  return settings;
}

RolloutRecord make_record(const Row& row, const SampleIndex& sample, const Generation& generation,
                          const RolloutRequest& request, const Trajectory* trajectory) {
  RolloutRecord record;
  if (trajectory) record.turns = trajectory->turns;
  record.step = request.step;
  record.is_baseline = sample.number >= request.num_samples;
  record.domain = row.domain;
  record.prompt_id = row.id;
  record.group_index = sample.prompt;
  record.sample_index = sample.number;
  record.response = generation.text;
  record.prompt_ids = trajectory && trajectory->agent ? trajectory->agent->prompt_ids : row.prompt_ids;
  record.response_ids = generation.ids;
  record.log_probs = generation.log_probs;
  record.routed_experts = generation.routed_experts;
  record.finish_reason = enum_name(generation.finish_reason);
  record.ground_truth = row.ground_truth;
  record.tag = row.tag;
  record.difficulty = as_written(row.difficulty);
  return record;
}

RewardQuery make_query(const Row& row, const RolloutRecord& record, uint64_t name) {
  return {.row = row.raw,
          .messages = row.messages.value_or(Json{{{"role", "user"}, {"content", row.prompt}}}),
          .prompt = record.prompt,
          .response = record.response,
          .ground_truth = record.ground_truth,
          .tag = record.tag,
          .domain = record.domain,
          .finish_reason = record.finish_reason,
          .num_response_tokens = record.num_model_tokens(),
          .prompt_ids = record.prompt_ids,
          .response_ids = record.response_ids,
          .name = name};
}

/// Describes the first environment failure of a domain; empty if it has no record here.
std::string first_failure(const std::vector<RolloutRecord>& records, const std::string& domain) {
  for (const RolloutRecord& record : records)
    if (record.domain == domain)
      return fmt::format(", first failure ({}): {}; repair the environment, then start again or use --resume",
                         record.reward_detail.value("environment", ""), record.reward_detail.value("error", ""));
  return "";
}

}  // namespace

std::unique_ptr<RolloutJob> RolloutWorker::begin(RolloutRequest request) {
  RolloutCoordinator::Plan plan{
      .prompts = make_prompts(request.rows, request.first_prompt),
      .quota = request.quota,
      .num_samples = request.num_samples,
      .baseline = request.with_baseline ? std::optional(greedy(request.sampling.generating)) : std::nullopt,
      .may_stop = request.may_stop,
      .expected_length = [this](const Prompt& prompt) { return lengths_.mean(*prompt.row); }};
  return std::make_unique<RolloutJob>(std::move(request), mesh_, rewards_, std::move(plan));
}

void RolloutWorker::run_ahead(RolloutJob& job, Engine& engine, const Tokenizer& tokenizer, int64_t version,
                              const std::function<bool()>& should_pause) {
  serve(job, engine, tokenizer, version, should_pause);
}

std::vector<RolloutRecord> RolloutWorker::finish(RolloutJob& job) {
  Stopwatch watch;
  std::vector<RolloutRecord> local;
  for (const auto& [index, result] : job.coordinator.take_results()) {
    local.push_back(std::move(job.records.at(index)));
    RolloutRecord& record = local.back();
    record.reward_detail = result.detail;
    if (result.parts.size() > 1) record.reward_detail["parts"] = parts_json(result.parts);
    record.is_judged = result.is_judged;
    if (!result.is_judged) continue;
    record.score = as_written(result.score);
    record.reward = as_written(result.reward);
  }
  job.statistics.rewards_s += watch.seconds();
  warn_of_faults(local, job.request.step);
  for (const std::string& domain : domains_) {
    const RewardedResponses responses =
        job.statistics.add_rewards(domain, local, rewards_.take_statistics(domain), mesh_);
    if (responses.rewarded > 0) rewards_.mark_services_answered(domain);
    if (responses.without_environment < responses.total) played_.insert(domain);
    const bool is_training = job.request.sampling.purpose == Purpose::kSample;  // validations may have few levels
    if (is_training && responses.total > 0 && !played_.contains(domain))
      throw user_error("{}: step {}: the environment failed in all {} trajectories{}", domain, job.request.step,
                       responses.total, first_failure(local, domain));
  }
  all_gather_lengths(local, job.coordinator);
  sort_records(local);
  return local;
}

/// Shares response lengths among all ranks; they decide which prompts start first in later steps.
void RolloutWorker::all_gather_lengths(const std::vector<RolloutRecord>& local, const RolloutCoordinator& coordinator) {
  ResponseLengths local_lengths;
  for (const RolloutRecord& record : local)
    local_lengths.lengths.push_back(
        {static_cast<int32_t>(record.group_index), static_cast<int32_t>(record.response_ids.size())});
  for (const ResponseLengths& rank_lengths : all_gather_messages(local_lengths, mesh_.world()))
    for (const auto& [prompt, length] : rank_lengths.lengths) lengths_.add(*coordinator.prompt_at(prompt).row, length);
}

namespace {

void end_if_stopped(RoleMesh& samplers, std::optional<StopKind> kind) {
  const StopWish wish = broadcast_message(StopWish{kind}, samplers);
  if (!wish.kind) return;
  request_stop(*wish.kind);
  throw Stopped(*wish.kind);
}

bool broadcast_goes_on(RoleMesh& samplers, bool wanted) {
  return broadcast_message(SamplingContinues{wanted}, samplers).goes_on;
}

}  // namespace

void attend_rollouts(RewardModels& models, RoleMesh& samplers, int64_t step) {
  std::map<std::string, HeldQueries> nothing;
  do {
    end_if_stopped(samplers, {});
    if (models.empty()) return;
    models.judge(nothing, step);
  } while (broadcast_goes_on(samplers, false));
}

void RolloutWorker::serve(RolloutJob& job, Engine& engine, const Tokenizer& tokenizer, int64_t version,
                          const std::function<bool()>& should_pause) {
  Progress progress(log_, job.request.phase, 0, "responses");
  RolloutCoordinator& coordinator = job.coordinator;
  const auto on_over = [&](int64_t index, const Generation& generation, const Trajectory* trajectory) {
    if (!mesh_.is_leader()) return;
    const Row& row = *coordinator.prompt(index).row;
    RolloutRecord& record = job.records[index] =
        make_record(row, coordinator.sample(index), generation, job.request, trajectory);
    if (trajectory) record.response = tokenizer.decode(record.response_ids);
    record.prompt = tokenizer.decode(record.prompt_ids);
    const std::vector<WeightsRun> weights = coordinator.weight_runs(index, std::ssize(generation.ids));
    if (weights.size() > 1 || weights.front().version != job.request.version) record.weights = weights;
    record.weights_sum = engine.weights_sum();
    RewardQuery query = make_query(row, record, coordinator.sequence_id(index));
    if (trajectory) query.from_environment = reward_result(*trajectory);
    coordinator.finished(index, std::move(query));
  };
  const Stopwatch watch;
  const double waited_s = coordinator.waited_for_others_s(), scores_s = coordinator.waited_for_scores_s();
  SamplerCounts counts;
  coordinator.begin({.progress = &progress, .version = version, .should_pause = should_pause});
  coordinator.end(sample(job, engine, tokenizer, counts, on_over));
  RolloutStatistics& statistics = job.statistics;
  const double others_s = coordinator.waited_for_others_s() - waited_s;
  const double own_scores_s = coordinator.waited_for_scores_s() - scores_s;
  statistics.wait_s += others_s;
  statistics.rewards_s += own_scores_s;
  statistics.generate_s += watch.seconds() - others_s - own_scores_s;
  statistics.add_counts(counts, mesh_);
}

/// Runs the engine on the job; returns Engine::serve()'s result by request of the job.
std::vector<Generation> RolloutWorker::sample(RolloutJob& job, Engine& engine, const Tokenizer& tokenizer,
                                              SamplerCounts& counts, const TurnSource::OnOver& on_over) {
  RolloutCoordinator& coordinator = job.coordinator;
  const SamplingParams& params = job.request.sampling;
  const SamplerHooks hooks{.counts = &counts};
  if (!pool_) {
    const auto on_done = [&](int64_t engine_request, const Generation& generation) {
      on_over(coordinator.first_request() + engine_request, generation, nullptr);
    };
    return engine.serve(coordinator, params, on_done, hooks);
  }
  TurnSource turns(coordinator, mesh_, {games_.environments, pool_for(job.request, tokenizer), *games_.tokens},
                   {job.request.response_length, job.request.sequence_length, params.generating}, job.trajectories,
                   on_over);
  const auto on_done = [&](int64_t engine_request, const Generation& generation) {
    turns.on_generated(engine_request, generation);
  };
  SamplerHooks hooks_with_tokens = hooks;
  if (has_agents())
    hooks_with_tokens.on_token = [&](int64_t engine_request, const Generation& so_far) {
      turns.on_token(engine_request, so_far);
    };
  return turns.by_request(engine.serve(turns, params, on_done, hooks_with_tokens));
}

bool RolloutWorker::has_agents() const {
  return std::ranges::any_of(games_.environments, [](const auto& entry) { return entry.second.env_type->is_agent; });
}

/// Models score when nothing is left to sample; their scores may require more samples.
void RolloutWorker::complete(RolloutJob& job, Engine& engine, const Tokenizer& tokenizer) {
  while (true) {
    serve(job, engine, tokenizer, job.request.version, {});
    if (models_.empty() && !job.coordinator.stopped()) {  // held responses wait for no model
      rewards_.release();
      if (job.coordinator.waits_for_models()) {
        job.coordinator.resume();
        continue;
      }
    }
    Stopwatch watch;
    end_if_stopped(ranks_, job.coordinator.stopped());
    job.statistics.wait_s += watch.restart();
    if (models_.empty()) return;
    models_.judge(rewards_.held(), job.request.step);
    rewards_.release();
    job.statistics.rewards_s += watch.seconds();
    if (!broadcast_goes_on(ranks_, job.coordinator.waits_for_models())) return;
    job.coordinator.resume();
  }
}

void RolloutWorker::warn_of_faults(const std::vector<RolloutRecord>& records, int64_t step) {
  std::map<std::string, RewardFaults> faults;
  std::map<std::string, int64_t> num_records;
  for (const RolloutRecord& record : records) {
    faults[record.domain].add(record.reward_detail);
    ++num_records[record.domain];
  }
  for (const auto& [domain, domain_faults] : faults) {
    const bool is_first = !warned_.contains(domain) || warned_[domain] != step;
    if (domain_faults.total() == 0 || !is_first) continue;
    warned_[domain] = step;
    log_.warn("rewards.{}: step {}: of {} rewards, {}", domain, step, num_records[domain], domain_faults.text());
    const int64_t late = domain_faults.count(RewardFailure::kTimeout);
    if (2 * late > num_records[domain] && advised_.insert(domain).second)
      log_.warn(
          "rewards.{0}: {1} of {2} rewards timed out, so that few responses are left to train on; raise "
          "rewards.{0}.timeout_s or world_size, or make the reward faster",
          domain, late, num_records[domain]);
  }
}

std::vector<RolloutRecord> exchange_rollouts(std::vector<RolloutRecord> local, Communicator& world) {
  std::vector<RolloutRecord> all = std::move(local);
  if (world.size() > 1) {
    auto rank_rollouts = all_gather_messages(Rollouts{std::move(all)}, world);
    all.clear();
    for (Rollouts& rollouts : rank_rollouts) std::ranges::move(rollouts.records, std::back_inserter(all));
  }
  sort_records(all);
  return all;
}

}  // namespace roll
