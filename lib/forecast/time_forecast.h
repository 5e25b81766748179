// How long a run takes on this machine: what a step computes, as training plans it (simulation.h), at the speed at
// which this machine computes such models (model_trial.h).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "forecast/simulation.h"
#include "preview/config_data.h"
#include "settings/load_config.h"

namespace roll {

struct TimeForecast {
  std::vector<std::pair<std::string, double>> phases{};  // of a step, in words: seconds
  double step_s = 0;
  int64_t num_steps = 0;      // of the run; 0: unknown
  std::string assumed{};      // in words, of what is not known before a run
  std::string why_unknown{};  // not empty: there is no forecast
};

/// This machine's, of every role that computes in a step of these lengths. nullopt: it has no device as the
/// configuration names, or nobody knows the shapes of its models.
std::optional<MeasuredSpeeds> measure_speeds(const CheckedConfig<Config>& checked, const ThinStep& step);

/// `rows`: of view_data(). Without them the policy is not asked how long its responses are: they are taken to be as
/// long as they may be, to prompts of a quarter of prompt_length.
TimeForecast forecast_time(const CheckedConfig<Config>& checked, const std::optional<ConfigData>& rows);
TimeForecast forecast_time(const CheckedConfig<SftConfig>& checked, const std::optional<ConfigData>& rows);
TimeForecast forecast_time(const CheckedConfig<DpoConfig>& checked, const std::optional<ConfigData>& rows);
TimeForecast forecast_time(const CheckedConfig<DistillConfig>& checked, const std::optional<ConfigData>& rows);

/// "time on this machine: about 41 s a step (sampling 30 s, ...), 2 h 17 min for 200 steps; with ..."
std::string to_text(const TimeForecast& forecast);

}  // namespace roll
