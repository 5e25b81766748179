#include "train/validation_sets.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "collect/rollout_metrics.h"
#include "dist/agree.h"
#include "dist/merged_metrics.h"
#include "dist/messages.h"
#include "model/model_folder.h"
#include "process/stop.h"
#include "settings/agentic.h"
#include "train/summary.h"

namespace roll {

namespace {

constexpr int kSampleColumns = 120;

}  // namespace

std::vector<std::pair<int64_t, int64_t>> due_validations(const SamplingPlan& plan,
                                                         const std::map<std::string, RowStore>& rows) {
  std::vector<std::pair<int64_t, int64_t>> validations;
  for (const SetPlan& set : plan.sets) validations.emplace_back(rows.at(set.name).size(), set.num_samples);
  return validations;
}

namespace {

Games make_games(const Config& config, const std::filesystem::path& model_folder, const Tokenizer& tokenizer) {
  Games games{.environments = played_environments(config)};
  const DataArgs& data = config.actor_train.data_args;
  if (games.environments.empty()) return games;
  games.chat_template = ChatTemplate::load(model_folder, data.template_name.value(), data.enable_thinking);
  games.tokens.emplace(*games.chat_template, tokenizer);
  games.prompt_length = config.prompt_length;
  for (const auto& [tag, environment] : games.environments)
    if (!environment.has_contexts())
      games.tokens->check(environment.env_type->answers_calls ? "tool" : "user",
                          make_environment(environment, tag)->tools());
  return games;
}

}  // namespace

std::unique_ptr<RolloutWorker> make_rollout_worker(const Config& config, const std::filesystem::path& model_folder,
                                                   const Tokenizer& tokenizer, RewardModels& models, RoleMesh& sampler,
                                                   Log& log) {
  std::unique_ptr<RolloutWorker> worker;
  agree(sampler.world(), [&] {
    if (!sampler.is_here()) return;
    RewardsByDomain rewards;
    for (const auto& [domain, rule] : config.rewards)
      rewards[domain] = {rule.reward, rule.has_own_model() || rule.shares_model()};
    worker = std::make_unique<RolloutWorker>(rewards, config.response_length.value(), models, sampler, log,
                                             make_games(config, model_folder, tokenizer), &tokenizer);
  });
  return worker;
}

namespace {

std::vector<JudgedSample> gather_samples(const JudgedSamples& local, Communicator& ranks) {
  std::vector<JudgedSample> all;
  for (JudgedSamples& rank_samples : all_gather_messages(local, ranks))
    std::ranges::move(rank_samples.samples, std::back_inserter(all));
  return all;
}

}  // namespace

Metrics log_validation(const std::string& title, const std::vector<RolloutRecord>& records,
                       const std::vector<ShownSample>& samples, Run& run, Communicator& ranks, Log& log) {
  Metrics metrics = merge_over_ranks(validation_metrics(records), ranks);
  metrics.merge(validation_errors(gather_samples(judged_samples(records), ranks)));
  const int64_t num_responses = ranks.all_reduce_sum(std::ssize(records), "number of validation responses");
  const double share = metric_value(metrics, "val_correct/all/mean");
  log.say("{}: {:.0f} of {} responses are right ({:.1f} %), mean score {:.4f}", title,
          share * static_cast<double>(num_responses), num_responses, 100 * share,
          metric_value(metrics, "val_score/all/mean"));
  for (const ShownSample& sample : samples) log.info("{}", fmt::join(sample_lines(sample, kSampleColumns), "\n"));
  if (!samples.empty()) run.show(samples.back());
  return metrics;
}

MeasuredSet measure_over_ranks(const JudgedSamples& local, int64_t num_samples, Communicator& ranks) {
  return measured(gather_samples(local, ranks), num_samples);
}

Metrics log_sets(const std::string& title, const std::map<std::string, MeasuredSet>& sets, Log& log) {
  Metrics metrics;
  if (sets.empty()) return metrics;
  log.say("{}:\n{}", title, evaluation_table(sets));
  for (const auto& [name, numbers] : sets) metrics.merge(evaluation_metrics(name, numbers));
  return metrics;
}

JudgedSamples judged_samples(const std::vector<RolloutRecord>& records) {
  JudgedSamples judged;
  for (const RolloutRecord& record : records) judged.samples.push_back(judged_sample(record));
  return judged;
}

KeptEvaluation::KeptEvaluation(RolloutManager& sampler, const std::vector<SetPlan>& sets, int64_t prompts_per_piece,
                               const std::string& resolved_config, const RoleSources& sources,
                               const std::filesystem::path& run_folder, Communicator& ranks)
    : sampler_(sampler), prompts_per_piece_(prompts_per_piece), ranks_(ranks) {
  agree(ranks, [&] {
    if (!ranks.is_first()) return;
    Json made_of{{"weights", weight_sums(sources.policy_folder())}};
    if (for_length(read_spec(sources.policy_folder()), sources.longest_sequence).rope.is_long)
      made_of["LongRoPE"] = "long_factor";
    for (const SetPlan& set : sets)
      (set.name.empty() ? made_of["validation"] : made_of["sets"][set.name]) =
          describe_inputs(set, sampler.set_rows(set), prompts_per_piece);
    kept_ = std::make_unique<KeptResponses>(run_folder, Json{{"config", resolved_config}, {"made_of", made_of}});
  });
}

void KeptEvaluation::for_each_piece(const SetPlan& set, const TakePiece& take) {
  const int64_t num_prompts = sampler_.set_rows(set).size();
  Share share{.index = 0, .count = (num_prompts + prompts_per_piece_ - 1) / prompts_per_piece_};
  for (; share.index < share.count; ++share.index) {
    std::optional<std::vector<RolloutRecord>> records;
    agree(ranks_, [&] {
      if (kept_) records = kept_->piece(set.name, share);
    });
    const Json is_kept = records.has_value();
    if (!broadcast_message(StateMessage{is_kept}, 0, ranks_, "whether a piece is saved").state.get<bool>()) {
      if (const auto kind = stop_agreed(ranks_)) throw Stopped(*kind);
      const int64_t first_prompt = share.index * prompts_per_piece_,
                    count = std::min(prompts_per_piece_, num_prompts - first_prompt);
      records = exchange_rollouts(sampler_.validation(0, set, first_prompt, count), ranks_);
      agree(ranks_, [&] {
        if (kept_) kept_->keep(set.name, share, *records);
      });
    }
    if (kept_) take(std::move(*records));
  }
}

}  // namespace roll
