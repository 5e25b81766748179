#include "track/time_spent.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "base/clock.h"

namespace roll {

namespace {

struct PhaseRow {
  const char* metric;
  const char* words;
  const char* remedy;  // names the keys to change
};

constexpr std::array kPhases = {
    PhaseRow{"time/step_generate", "sampling",
             "max_running_requests samples more responses at once, response_length bounds them, and actor_infer's "
             "model_args.dtype: int8 or int4 makes each token cheaper"},
    PhaseRow{"time/step_generate_wait", "waiting for the longest responses",
             "async_generation_ratio samples the next step meanwhile; a smaller response_length bounds the wait"},
    PhaseRow{"time/step_rewards", "rewards",
             "rewards.<domain>.world_size judges more responses at once, and timeout_s bounds each"},
    PhaseRow{"time/step_model_update", "weights to the sampler",
             "actor_infer on the ranks and in the layout of actor_train shares the trainer's weights"},
    PhaseRow{"time/old_log_probs", "old log-probs",
             "with one update per step (train_batch_size: all its responses) none are needed; "
             "enable_old_logprobs_recompute: false uses the sampler's"},
    PhaseRow{"time/ref_log_probs", "reference log-probs",
             "without a KL in the loss or the reward no reference is needed"},
    PhaseRow{"time/values", "values", "adv_estimator: grpo or reinforce needs no critic"},
    PhaseRow{"time/step_train", "training",
             "a larger max_packed_sequence_length_train, disable_gradient_checkpointing: true where memory allows it, "
             "dtype bf16 where the processor supports it, adapters (lora_rank), or more ranks (-n)"},
    PhaseRow{"time/validate", "validations", "a larger eval_steps validates less often"},
    PhaseRow{"time/checkpoint", "waiting for checkpoints", "a larger save_steps saves less often"},
};
constexpr double kMinShownShare = 0.01;  // fraction of the total

double sum_values(MetricPoints points) {
  double sum = 0;
  for (const MetricPoint& point : points) sum += point.value;
  return sum;
}

struct PhaseTime {
  const PhaseRow* part;
  double seconds;
};

}  // namespace

std::string time_spent(const MetricHistory& history) {
  const MetricPoints steps = history.points("time/step_total");
  if (steps.size() < 2 || history.points("time/step_train").empty()) return "";
  double total = sum_values(steps);
  for (const char* metric : {"time/validate", "time/checkpoint"}) total += sum_values(history.points(metric));
  std::vector<PhaseTime> spent;
  for (const PhaseRow& part : kPhases) spent.push_back({&part, sum_values(history.points(part.metric))});
  std::ranges::stable_sort(spent, std::greater(), &PhaseTime::seconds);
  std::string text = fmt::format("time of {} steps: {}", steps.size(), duration_text(total));
  for (const auto& [part, seconds] : spent)
    if (seconds >= kMinShownShare * total) text += fmt::format(", {} {:.0f} %", part->words, 100 * seconds / total);
  return fmt::format("{}\n  to shorten {}: {}", text, spent.front().part->words, spent.front().part->remedy);
}

}  // namespace roll
