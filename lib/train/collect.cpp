#include "train/collect.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "base/stop.h"
#include "dist/agree.h"
#include "reward/reward.h"
#include "reward/reward_pool.h"
#include "track/progress.h"

namespace roll {

Collector::Collector(const std::map<std::string, RewardWorkerConfig>& rewards, int64_t response_length, Mesh& mesh,
                     Log& log)
    : mesh_(mesh), log_(log) {
  for (const auto& [domain, worker] : rewards)
    rewards_[domain] = std::make_unique<RewardPool>(worker.reward, response_length, fmt::format("rewards.{}.", domain));
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
  limits.page_size = engine.block_size;
  return limits;
}

namespace {

/// The rows of this group: every size-th, so that domains spread evenly.
struct Share {
  std::vector<int64_t> rows;  // index into the request's rows, one per generation request
  std::vector<int64_t> samples;
  std::vector<GenerationRequest> requests;
};

Share share_of(const CollectRequest& request, int64_t rank, int64_t size) {
  Share share;
  for (int64_t row = rank; row < static_cast<int64_t>(request.rows.size()); row += size)
    for (int64_t sample = 0; sample < request.num_samples; ++sample) {
      share.rows.push_back(row);
      share.samples.push_back(sample);
      const int64_t sequence = (request.first_group + row) * request.num_samples + sample;
      share.requests.push_back({request.rows[row]->prompt_ids, static_cast<uint64_t>(sequence)});
    }
  return share;
}

RolloutRecord record_of(const Row& row, const Generation& generation, const CollectRequest& request, int64_t row_index,
                        int64_t sample) {
  RolloutRecord record;
  record.step = request.step;
  record.domain = row.domain;
  record.prompt_id = row.id;
  record.group_index = request.first_group + row_index;
  record.sample_index = sample;
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

RewardQuery query_of(const Row& row, const RolloutRecord& record) {
  return {.row = row.raw,
          .prompt = record.prompt,
          .response = record.response,
          .ground_truth = record.ground_truth,
          .tag = record.tag,
          .domain = record.domain,
          .finish_reason = record.finish_reason,
          .num_response_tokens = static_cast<int64_t>(record.response_ids.size())};
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

double ratio_of(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace

std::vector<RolloutRecord> Collector::collect(Engine& engine, const Tokenizer& tokenizer, const CollectRequest& request,
                                              CollectStatistics& statistics) {
  const Share share = share_of(request, mesh_.place().dp, mesh_.dp_size());
  std::vector<RolloutRecord> mine(share.requests.size());
  std::map<std::string, std::vector<size_t>> submitted;  // by domain, in the order of submission
  SamplerCounts counts;
  Stopwatch watch;
  {
    Progress progress(log_, request.phase, static_cast<int64_t>(share.requests.size()), "responses");
    const auto on_done = [&](int64_t index, const Generation& generation) {
      const Row& row = *request.rows[share.rows[index]];
      mine[index] = record_of(row, generation, request, share.rows[index], share.samples[index]);
      mine[index].prompt = tokenizer.decode(row.prompt_ids);
      progress.advance();
      if (generation.finish_reason == FinishReason::kAbort || !mesh_.is_leader()) return;
      rewards_.at(row.domain)->submit(query_of(row, mine[index]));
      submitted[row.domain].push_back(index);
    };
    engine.generate(
        share.requests, request.sampling, on_done,
        // In lock-step, all tensor ranks must stop before the same token.
        {.should_stop = [&] { return request.may_stop && stop_agreed(mesh_.tp()).has_value(); }, .counts = &counts});
  }
  statistics.generate_s += watch.restart();
  add_counts(statistics.counts, counts, mesh_);
  statistics.wait_s += watch.restart();
  if (const auto kind = request.may_stop ? stop_agreed(mesh_.world()) : std::nullopt) throw Stopped(*kind);
  take_rewards(submitted, mine, request.step);
  statistics.rewards_s += watch.seconds();
  if (!mesh_.is_leader()) mine.clear();
  auto all = exchange_rollouts(std::move(mine), mesh_.world());
  for (const auto& [domain, pool] : rewards_)
    statistics.faults[domain];  // so that every curve begins with the first step
  for (const RolloutRecord& record : all) statistics.faults[record.domain].add(record.reward_detail);
  return all;
}

void Collector::take_rewards(const std::map<std::string, std::vector<size_t>>& submitted,
                             std::vector<RolloutRecord>& records, int64_t step) {
  for (const auto& [domain, order] : submitted) {
    const auto results = rewards_.at(domain)->collect();
    ROLL_CHECK_EQ(results.size(), order.size(), "a reward pool answers every query");
    RewardFaults faults;
    for (size_t i = 0; i < order.size(); ++i) {
      records[order[i]].score = as_written(results[i].score);
      records[order[i]].reward = as_written(results[i].reward);
      records[order[i]].reward_detail = results[i].detail;
      faults.add(results[i].detail);
    }
    const bool is_first = !warned_.contains(domain) || warned_[domain] != step;
    if (faults.total() == 0 || !is_first) continue;
    warned_[domain] = step;
    log_.warn("rewards.{}: step {}: of {} rewards, {}", domain, step, results.size(), faults.text());
  }
}

void CollectStatistics::add_to(Metrics& metrics) const {
  metrics.add("time/step_model_update", model_update_s);
  metrics.add("time/step_generate", generate_s);
  metrics.add("time/step_generate_wait", wait_s);
  metrics.add("time/step_rewards", rewards_s);
  metrics.add("rollout/tokens_per_s", static_cast<double>(counts.drawn) / (generate_s + wait_s));
  metrics.add("rollout/slots_busy", ratio_of(counts.decoded, counts.slot_steps));
  metrics.add("rollout/kv_pages_used", ratio_of(counts.most_pages, counts.num_pages));
  metrics.add("rollout/prefix_hits", ratio_of(counts.shared_tokens, counts.shared_tokens + counts.prompt_tokens));
  metrics.add("rollout/evictions@sum", static_cast<double>(counts.evictions));
  for (const auto& [domain, failed] : faults)
    for (const auto& prefix : {std::string(), domain + "/"}) {
      metrics.add(prefix + "reward/timeouts@sum", static_cast<double>(failed.timeouts));
      metrics.add(prefix + "reward/errors@sum", static_cast<double>(failed.errors));
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
