#include "train/validation_sets.h"

#include <algorithm>

#include "collect/rollout_metrics.h"
#include "dist/agree.h"
#include "dist/messages.h"

namespace roll {

MeasuredSet measured_over(const JudgedSamples& mine, int64_t num_samples, Communicator& ranks) {
  std::vector<JudgedSample> all;
  for (JudgedSamples& of_rank : all_gather_messages(mine, ranks))
    std::ranges::move(of_rank.samples, std::back_inserter(all));
  return measured(std::move(all), num_samples);
}

JudgedSamples judged_samples(const std::vector<RolloutRecord>& records) {
  JudgedSamples judged;
  for (const RolloutRecord& record : records) judged.samples.push_back(judged_sample(record));
  return judged;
}

KeptEvaluation::KeptEvaluation(RolloutManager& sampler, const std::vector<SetPlan>& sets, int64_t prompts_of_piece,
                               const std::string& resolved_config, const std::filesystem::path& model,
                               const std::filesystem::path& run_folder, Communicator& ranks)
    : sampler_(sampler), prompts_of_piece_(prompts_of_piece), ranks_(ranks) {
  agree(ranks, [&] {
    if (!ranks.is_first()) return;
    Json made_of{{"weights", weight_sums(model)}};
    for (const SetPlan& set : sets)
      made_of["sets"][set.name] = description_of(set, sampler.rows_of(set), prompts_of_piece);
    kept_ = std::make_unique<KeptResponses>(run_folder, Json{{"config", resolved_config}, {"made_of", made_of}});
  });
}

JudgedSamples KeptEvaluation::samples_of(const SetPlan& set) {
  const int64_t num_prompts = std::ssize(sampler_.rows_of(set));
  Share share{.index = 0, .count = (num_prompts + prompts_of_piece_ - 1) / prompts_of_piece_};
  JudgedSamples samples;
  for (; share.index < share.count; ++share.index) {
    std::optional<std::vector<RolloutRecord>> records;
    agree(ranks_, [&] {
      if (kept_) records = kept_->piece(set.name, share);
    });
    const Json is_kept = records.has_value();
    if (!broadcast_message(StateMessage{is_kept}, 0, ranks_, "what is kept").state.get<bool>()) {
      const int64_t first = share.index * prompts_of_piece_, count = std::min(prompts_of_piece_, num_prompts - first);
      records = exchange_rollouts(sampler_.validation(0, set, static_cast<size_t>(first), static_cast<size_t>(count)),
                                  ranks_);
      agree(ranks_, [&] {
        if (kept_) kept_->keep(set.name, share, *records);
      });
    }
    if (kept_) std::ranges::move(judged_samples(*records).samples, std::back_inserter(samples.samples));
  }
  return samples;
}

}  // namespace roll
