#include "train/collect.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "base/error.h"
#include "base/stop.h"
#include "reward/reward.h"
#include "track/progress.h"

namespace roll {

Collector::Collector(const std::map<std::string, RewardWorkerConfig>& rewards, int64_t response_length,
                     RewardModels& models, RoleMesh& ranks, Log& log)
    : models_(models),
      ranks_(ranks),
      mesh_(ranks.mesh()),
      log_(log),
      rewards_(rewards, response_length, mesh_.dp_size()) {
  for (const auto& [domain, worker] : rewards) domains_.push_back(domain);
}

SamplingParams sampling_params(const Config& config, const Tokenizer& tokenizer, Purpose purpose, int64_t step) {
  const bool validates = purpose == Purpose::kValidate;
  SamplingParams params;
  params.generating = validates ? config.validation.generating_args : config.actor_infer.generating_args;
  params.generating.max_new_tokens = params.generating.max_new_tokens.value_or(config.response_length.value());
  params.eos_ids = tokenizer.eos_ids();
  params.seed = static_cast<uint64_t>(config.seed);
  params.purpose = purpose;
  params.step = static_cast<uint32_t>(step);
  params.max_running_requests = config.max_running_requests;
  const StrategyConfig& engine = config.actor_infer.strategy_args.strategy_config;
  params.shares_prefill = engine.enable_prefix_caching;
  return params;
}

EngineLimits engine_limits(const Config& config, int64_t most_requests) {
  const StrategyConfig& engine = config.actor_infer.strategy_args.strategy_config;
  const int64_t response = config.response_length.value();
  const auto longest = [&](const GeneratingArgs& args) { return args.max_new_tokens.value_or(response); };
  EngineLimits limits;
  limits.num_slots = std::clamp<int64_t>(most_requests, 1, config.max_running_requests);
  limits.max_length = config.prompt_length + longest(config.actor_infer.generating_args);
  if (config.validates())
    limits.max_length = std::max(limits.max_length, config.val_prompt_length.value_or(config.prompt_length) +
                                                        longest(config.validation.generating_args));
  limits.max_rows = engine.max_num_batched_tokens.value_or(limits.max_rows);
  return limits;
}

namespace {

std::vector<Prompt> prompts_of(const std::vector<const Row*>& rows) {
  std::vector<Prompt> prompts;
  for (const Row* row : rows) prompts.push_back({.row = row, .number = prompts.size()});
  return prompts;
}

GeneratingArgs greedy(GeneratingArgs args) {
  args.temperature = 0;
  return args;
}

RolloutRecord record_of(const Row& row, const SampleIndex& sample, const Generation& generation,
                        const CollectRequest& request) {
  RolloutRecord record;
  record.step = request.step;
  record.is_baseline = sample.number >= request.num_samples;
  record.domain = row.domain;
  record.prompt_id = row.id;
  record.group_index = sample.prompt;
  record.sample_index = sample.number;
  record.response = generation.text;
  record.prompt_ids = row.prompt_ids;
  record.response_ids = generation.ids;
  record.log_probs = generation.log_probs;
  record.finish_reason = finish_reason_name(generation.finish_reason);
  record.ground_truth = row.ground_truth;
  record.tag = row.tag;
  record.difficulty = as_written(row.difficulty);
  return record;
}

RewardQuery query_of(const Row& row, const RolloutRecord& record, uint64_t name) {
  return {.row = row.raw,
          .messages = row.messages.value_or(Json{{{"role", "user"}, {"content", row.prompt}}}),
          .prompt = record.prompt,
          .response = record.response,
          .ground_truth = record.ground_truth,
          .tag = record.tag,
          .domain = record.domain,
          .finish_reason = record.finish_reason,
          .num_response_tokens = static_cast<int64_t>(record.response_ids.size()),
          .name = name};
}

/// `mine` of each group of ranks that samples together, once. **Collective** over the world.
void add_counts(SamplerCounts& all, const SamplerCounts& mine, Mesh& mesh) {
  int64_t* const sums[] = {&all.prompt_tokens, &all.shared_tokens, &all.decoded,
                           &all.drawn,         &all.evictions,     &all.slot_steps};
  const int64_t own[] = {mine.prompt_tokens, mine.shared_tokens, mine.decoded,
                         mine.drawn,         mine.evictions,     mine.slot_steps};
  at::Tensor told = at::zeros({std::ssize(own)}, at::kLong);
  if (mesh.is_leader()) std::ranges::copy(own, told.data_ptr<int64_t>());
  mesh.world().all_reduce_sum(told, "sampler counts");
  for (int64_t i = 0; i < std::ssize(own); ++i) *sums[i] += told.const_data_ptr<int64_t>()[i];
  all.most_pages = std::max(all.most_pages, mesh.world().all_reduce_max(mine.most_pages, "KV pages"));
  all.num_pages = std::max(all.num_pages, mine.num_pages);
}

/// What failed on this rank becomes what failed on all. **Collective** over the world.
void add_faults(RewardFaults& faults, Communicator& world) {
  for (const auto& [kind, name] : names_of(RewardFailure()))
    faults.counts[kind] = world.all_reduce_sum(faults.of(kind), "failed rewards");
}

/// How many retries a reward needed.
int64_t retries_of(const Json& detail) {
  const auto retries = detail.find("retries");
  return retries != detail.end() && retries->is_number_integer() ? retries->get<int64_t>() : 0;
}

/// `mine`, of this rank, and those of the others. **Collective** over the world.
void add_use(RewardUse& all, const RewardUse& mine, Communicator& world) {
  all.num_scored += world.all_reduce_sum(mine.num_scored, "scored responses");
  all.total_s += world.all_reduce_sum(mine.total_s, "reward times");
  all.longest_s = std::max(all.longest_s, world.all_reduce_max(mine.longest_s, "longest reward"));
  all.most_waiting = std::max(all.most_waiting, world.all_reduce_max(mine.most_waiting, "waiting rewards"));
}

double ratio_of(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace

std::vector<RolloutRecord> Collector::collect(Engine& engine, const Tokenizer& tokenizer, const CollectRequest& request,
                                              CollectStatistics& statistics) {
  Progress progress(log_, request.phase, 0, "responses");
  Collection collection(
      mesh_, rewards_, progress,
      {.prompts = prompts_of(request.rows),
       .quota = request.quota,
       .num_samples = request.num_samples,
       .baseline = request.with_baseline ? std::optional(greedy(request.sampling.generating)) : std::nullopt,
       .may_stop = request.may_stop,
       .expected_length = [&](const Prompt& prompt) { return lengths_.mean(*prompt.row); }});
  auto mine = sample(engine, tokenizer, request, collection, statistics);
  std::map<std::string, int64_t> retries;
  for (const RolloutRecord& record : mine) {
    statistics.faults[record.domain].add(record.reward_detail);
    retries[record.domain] += retries_of(record.reward_detail);
  }
  for (const std::string& domain : domains_) {
    add_faults(statistics.faults[domain], mesh_.world());
    statistics.retries[domain] += mesh_.world().all_reduce_sum(retries[domain], "retries of rewards");
    add_use(statistics.use[domain], rewards_.take_use(domain), mesh_.world());
  }
  tell_lengths(mine, collection);
  sort_records(mine);
  return mine;
}

/// How long responses were, which decides who starts first the next time.
void Collector::tell_lengths(const std::vector<RolloutRecord>& mine, const Collection& collection) {
  struct Told {
    int64_t prompt, length;
  };
  std::string bytes;
  for (const RolloutRecord& record : mine) {
    const Told told{record.group_index, std::ssize(record.response_ids)};
    bytes.append(reinterpret_cast<const char*>(&told), sizeof told);
  }
  for (std::string_view said : mesh_.world().all_gather_bytes(bytes, "lengths of responses"))
    for (Told told{}; !said.empty(); said.remove_prefix(sizeof told)) {
      std::memcpy(&told, said.data(), sizeof told);
      lengths_.add(*collection.prompt_at(told.prompt).row, told.length);
    }
}

/// What this group of ranks sampled, on its leader.
std::vector<RolloutRecord> Collector::sample(Engine& engine, const Tokenizer& tokenizer, const CollectRequest& request,
                                             Collection& collection, CollectStatistics& statistics) {
  std::map<int64_t, RolloutRecord> records;  // by request
  const auto on_done = [&](int64_t served, const Generation& generation) {
    if (!mesh_.is_leader()) return;
    const int64_t index = collection.first_request() + served;
    const Row& row = *collection.prompt(index).row;
    RolloutRecord& record = records[index] = record_of(row, collection.sample(index), generation, request);
    record.prompt = tokenizer.decode(row.prompt_ids);
    collection.finished(index, query_of(row, record, collection.sequence_id(index)));
  };
  sample_and_score(engine, request, collection, on_done, statistics);
  Stopwatch watch;
  std::vector<RolloutRecord> mine;
  for (const auto& [index, result] : collection.take_results()) {
    mine.push_back(std::move(records.at(index)));
    RolloutRecord& record = mine.back();
    record.reward_detail = result.detail;
    record.is_judged = result.is_judged;
    if (!result.is_judged) continue;
    record.score = as_written(result.score);
    record.reward = as_written(result.reward);
  }
  statistics.rewards_s += watch.seconds();
  warn_of_faults(mine, request.step);
  return mine;
}

namespace {

/// What sampling ranks tell the others: whether somebody wishes to stop ...
void end_if_stopped(RoleMesh& samplers, std::optional<StopKind> kind) {
  const std::string told = samplers.tell_bytes(kind ? std::to_string(static_cast<int>(*kind)) : "", "a wish to stop");
  if (told.empty()) return;
  const auto stop = static_cast<StopKind>(std::stoi(told));
  request_stop(stop);
  throw Stopped(stop);
}

/// ... and whether more is sampled once models have judged.
bool goes_on(RoleMesh& samplers, bool wanted) {
  return samplers.tell_bytes(wanted ? "on" : "", "whether sampling goes on") == "on";
}

}  // namespace

void attend_collection(RewardModels& models, RoleMesh& samplers, int64_t step) {
  std::map<std::string, std::map<int64_t, RewardQuery>> nothing;
  do {
    end_if_stopped(samplers, {});
    if (models.empty()) return;
    models.judge(nothing, step);
  } while (goes_on(samplers, false));
}

/// Models score when nothing is left to sample, and what they say may want more samples.
void Collector::sample_and_score(Engine& engine, const CollectRequest& request, Collection& collection,
                                 const OnGenerated& on_done, CollectStatistics& statistics) {
  double served_s = 0;
  while (true) {
    Stopwatch watch;
    SamplerCounts counts;
    engine.serve(collection, request.sampling, on_done, {.counts = &counts});
    served_s += watch.restart();
    end_if_stopped(ranks_, collection.stopped());
    add_counts(statistics.counts, counts, mesh_);
    statistics.wait_s += watch.restart();
    if (models_.empty()) break;
    models_.judge(rewards_.held(), request.step);
    rewards_.release();
    statistics.rewards_s += watch.seconds();
    if (!goes_on(ranks_, collection.waits_for_models())) break;
    collection.go_on();
  }
  statistics.wait_s += collection.waited_for_others_s();
  statistics.rewards_s += collection.waited_for_scores_s();
  statistics.generate_s += served_s - collection.waited_for_others_s() - collection.waited_for_scores_s();
}

void Collector::warn_of_faults(const std::vector<RolloutRecord>& records, int64_t step) {
  std::map<std::string, RewardFaults> faults;
  std::map<std::string, int64_t> num_records;
  for (const RolloutRecord& record : records)
    faults[record.domain].add(record.reward_detail), ++num_records[record.domain];
  for (const auto& [domain, of_domain] : faults) {
    const bool is_first = !warned_.contains(domain) || warned_[domain] != step;
    if (of_domain.total() == 0 || !is_first) continue;
    warned_[domain] = step;
    log_.warn("rewards.{}: step {}: of {} rewards, {}", domain, step, num_records[domain], of_domain.text());
  }
}

void CollectStatistics::add_to(Metrics& metrics) const {
  metrics.add("time/step_generate", generate_s);
  metrics.add("time/step_generate_wait", wait_s);
  metrics.add("time/step_rewards", rewards_s);
  metrics.add("rollout/tokens_per_s", static_cast<double>(counts.drawn) / (generate_s + wait_s));
  metrics.add("rollout/slots_busy", ratio_of(counts.decoded, counts.slot_steps));
  metrics.add("rollout/kv_pages_used", ratio_of(counts.most_pages, counts.num_pages));
  metrics.add("rollout/prefix_hits", ratio_of(counts.shared_tokens, counts.shared_tokens + counts.prompt_tokens));
  metrics.add("rollout/evictions@sum", static_cast<double>(counts.evictions));
  for (const auto& [domain, of_domain] : use) {
    for (const auto& prefix : {std::string(), domain + "/"})
      metrics.add(prefix + "reward/retries@sum", static_cast<double>(retries.at(domain)));
    metrics.add(domain + "/reward/waiting@max", static_cast<double>(of_domain.most_waiting));
    if (of_domain.num_scored == 0) continue;
    metrics.add(domain + "/reward/seconds/mean", of_domain.total_s / static_cast<double>(of_domain.num_scored));
    metrics.add(domain + "/reward/seconds/max", of_domain.longest_s);
  }
  for (const auto& [domain, failed] : faults)
    for (const auto& prefix : {std::string(), domain + "/"}) {
      metrics.add(prefix + "reward/timeouts@sum", static_cast<double>(failed.of(RewardFailure::kTimeout)));
      metrics.add(prefix + "reward/errors@sum", static_cast<double>(failed.errors()));
      for (const auto& [kind, name] : names_of(RewardFailure()))
        if (kind != RewardFailure::kTimeout)
          metrics.add(fmt::format("{}reward/errors/{}@sum", prefix, name), static_cast<double>(failed.of(kind)));
    }
}

std::vector<RolloutRecord> exchange_rollouts(std::vector<RolloutRecord> mine, Communicator& world) {
  std::vector<RolloutRecord> all = std::move(mine);
  if (world.size() > 1) {
    const auto lines = world.all_gather_bytes(to_lines(all), "rollouts");
    all.clear();
    for (const auto& of_rank : lines)
      for (auto& record : records_from_lines(of_rank, "rollouts of another rank")) all.push_back(std::move(record));
  }
  sort_records(all);
  return all;
}

}  // namespace roll
