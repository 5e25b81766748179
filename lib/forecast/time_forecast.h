// Forecasts a run's time on this machine: the work of a simulated step (simulation.h) at measured speeds
// (model_trial.h). Used by `roll validate-config`, `roll train` and `roll new`.
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
  std::vector<std::pair<std::string, double>> phases{};  // (phase in words, seconds per step)
  double step_s = 0;                                     // seconds per step
  int64_t num_steps = 0;                                 // steps of the run; 0: unknown
  std::string assumed{};                                 // words: lengths that had to be assumed; "": none
  std::string why_unknown{};                             // reason why there is no forecast; "": there is one
};

/// Measures on this machine the speed of every phase in a step of these lengths. Returns nullopt if the configured
/// device is missing, or if the models' shapes are unknown or too large.
std::optional<MeasuredSpeeds> measure_speeds(const CheckedConfig<Config>& checked, const ThinStep& step);

/// Forecasts a run's time. `rows`: the run's data, from view_data(). For reinforcement learning with rows, the policy
/// samples some responses to measure their length; without rows (nullopt), responses are assumed to have full length,
/// and prompts prompt_length / 4 tokens.
TimeForecast forecast_time(const CheckedConfig<Config>& checked, const std::optional<ConfigData>& rows);
TimeForecast forecast_time(const CheckedConfig<SftConfig>& checked, const std::optional<ConfigData>& rows);
TimeForecast forecast_time(const CheckedConfig<DpoConfig>& checked, const std::optional<ConfigData>& rows);
TimeForecast forecast_time(const CheckedConfig<DistillConfig>& checked, const std::optional<ConfigData>& rows);

/// Returns "time on this machine: about 41 s a step (sampling 30 s, ...), 2 h 17 min for 200 steps; with ..."
std::string to_text(const TimeForecast& forecast);

}  // namespace roll
