#include "forecast/scaled_config.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "settings/placement.h"
#include "settings/rollout_only.h"

namespace roll {

namespace {

constexpr int64_t kMostRanks = 65536;

CheckedConfig<Config> load(const ScaleRequest& request, const std::vector<std::string>& extra_overrides,
                           std::optional<int64_t> num_ranks) {
  std::vector<std::string> overrides = request.text.overrides;
  overrides.insert(overrides.end(), extra_overrides.begin(), extra_overrides.end());
  // Load as an already started run, so that its hosts do not matter.
  return load_config_text(request.text.yaml, request.text.origin, overrides,
                          {.num_ranks = num_ranks, .offline = true, .hostfile = {}, .is_started = true});
}

}  // namespace

ScaledConfig::ScaledConfig(ScaleRequest request)
    : request_(std::move(request)),
      base_(load(request_, {}, request_.num_ranks)),
      is_shared_(rank_classes(base_.config).size() == 1),
      model_ranks_(1) {
  require_training(base_.config, request_.text.origin, "--simulate");
  for (const auto& [name, worker] : placed_roles(std::as_const(base_.config))) {
    const StrategyConfig& layout = worker->strategy_args.strategy_config;
    const int64_t shares_experts = layout.pipeline_parallel() * layout.tensor_parallel() * layout.expert_parallel();
    model_ranks_ = std::lcm(model_ranks_, std::lcm(layout.model_ranks(), shares_experts));
  }
}

int64_t ScaledConfig::scaled_data_ranks(int64_t num_ranks) const {
  return std::ssize(base_.config.actor_train.ranks) * num_ranks / base_.num_ranks /
         base_.config.actor_train.strategy_args.strategy_config.model_ranks();
}

int64_t ScaledConfig::batch_at(int64_t num_ranks) const {
  const int64_t batch = base_.config.rollout_batch_size;
  return request_.keeps_batch ? batch : batch * scaled_data_ranks(num_ranks) / base_.config.actor_train.data_ranks();
}

std::string ScaledConfig::misfit(int64_t num_ranks) const {
  if (is_shared_ && num_ranks % model_ranks_ != 0)
    return fmt::format("must be a multiple of the {} ranks that share a model", model_ranks_);
  if (!is_shared_ && num_ranks % base_.num_ranks != 0)
    return fmt::format("must be a multiple of the {} ranks over which the configuration spreads its roles",
                       base_.num_ranks);
  const int64_t batch = base_.config.rollout_batch_size, ranks = base_.config.actor_train.data_ranks();
  if (!request_.keeps_batch && batch * scaled_data_ranks(num_ranks) % ranks != 0)
    return fmt::format(
        "rollout_batch_size grows with the ranks, and {} prompts x {} / {} data-parallel ranks is not a whole "
        "number; give --keep-batch, or another number of ranks",
        batch, scaled_data_ranks(num_ranks), ranks);
  return "";
}

std::string ScaledConfig::nearest_numbers(int64_t num_ranks) const {
  std::vector<std::string> fits;
  for (int64_t n = num_ranks - 1; n > 0 && fits.empty(); --n)
    if (misfit(n).empty()) fits.push_back(std::to_string(n));
  for (int64_t n = num_ranks + 1; n <= kMostRanks; ++n)
    if (misfit(n).empty()) {
      fits.push_back(std::to_string(n));
      break;
    }
  return fmt::format("{}", fmt::join(fits, " or "));
}

CheckedConfig<Config> ScaledConfig::at(int64_t num_ranks) const {
  if (const std::string reason = misfit(num_ranks); !reason.empty())
    throw user_error("--simulate = {}: {}; possible numbers: {}", num_ranks, reason, nearest_numbers(num_ranks));
  std::vector<std::string> overrides = {fmt::format("rollout_batch_size={}", batch_at(num_ranks))};
  for (const auto& [name, worker] : placed_roles(base_.config)) {
    const auto& batch = worker->training_args.train_batch_size;
    if (worker->duties.trains && batch && !request_.keeps_batch)
      overrides.push_back(fmt::format("{}.training_args.train_batch_size={}", name,
                                      *batch * scaled_data_ranks(num_ranks) / base_.config.actor_train.data_ranks()));
    if (!worker->device_mapping) continue;
    DeviceMapping mapping;
    if (is_shared_) {
      for (int64_t rank = 0; rank < num_ranks; ++rank) mapping.devices.push_back(rank);
    } else {
      const int64_t copies = num_ranks / base_.num_ranks;
      for (const int rank : worker->ranks)
        for (int64_t i = 0; i < copies; ++i) mapping.devices.push_back(rank * copies + i);
    }
    overrides.push_back(fmt::format("{}.device_mapping={}", name, to_config_text(mapping)));
  }
  return load(request_, overrides, num_ranks);
}

int64_t ScaledConfig::stand_in(int64_t num_ranks, int64_t most) const {
  most = std::max(most, 2 * model_ranks_);  // at least two replicas, because sequences move between them
  if (num_ranks <= most || request_.keeps_batch) return num_ranks;
  const int64_t unit = is_shared_ ? 1 : base_.num_ranks;
  // Places in model-parallel groups match if both numbers split a role's ranks alike.
  const auto fits = [&](int64_t n) { return (num_ranks - n) / unit % model_ranks_ == 0 && misfit(n).empty(); };
  for (int64_t n = most / unit * unit; n > 0; n -= unit)
    if (fits(n)) return n;
  int64_t n = (most / unit + 1) * unit;
  while (n < num_ranks && !fits(n)) n += unit;
  return std::min(n, num_ranks);
}

int ScaledConfig::scaled_rank(int rank, int64_t stand_in, int64_t num_ranks) const {
  if (is_shared_) return rank;
  const auto ranks_per_base_rank = [&](int64_t ranks) { return static_cast<int>(ranks / base_.num_ranks); };
  return rank / ranks_per_base_rank(stand_in) * ranks_per_base_rank(num_ranks) + rank % ranks_per_base_rank(stand_in);
}

}  // namespace roll
