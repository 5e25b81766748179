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

/// Result of forecast_time().
struct TimeForecast {
  std::vector<std::pair<std::string, double>> phases{};  // (name for users, such as "sampling"; seconds per step)
  double step_s = 0;                                     // seconds per step
  int64_t num_steps = 0;                                 // steps of the run; 0: unknown
  std::string assumed{};      // end of a sentence that says which lengths are assumed; "": none
  std::string why_unknown{};  // reason why there is no forecast; "": there is one
};

/// Measures on this machine the speed of every phase in a step of these lengths. Takes seconds. On the CPU, sets this
/// process's number of threads to one rank's share of the cores, and loads the other cores meanwhile. Returns nullopt
/// if the configured device is missing, the run uses several hosts, or the models' shapes are unknown or too large
/// (can_be_tried() in model_trial.h).
std::optional<MeasuredSpeeds> measure_speeds(const CheckedConfig<Config>& checked, const ThinStep& step);

/// Forecast a run's time; threads as in measure_speeds(). `rows`: the run's data, from view_data()
/// (preview/config_data.h). For reinforcement learning with rows, the policy samples some responses to measure their
/// length. Without rows (nullopt), responses are assumed to have full length, and prompts prompt_length / 4 tokens.
/// Other runs need rows. If there is no forecast, why_unknown says why.
TimeForecast forecast_time(const CheckedConfig<Config>& checked, const std::optional<ConfigData>& rows);
TimeForecast forecast_time(const CheckedConfig<SftConfig>& checked, const std::optional<ConfigData>& rows);
TimeForecast forecast_time(const CheckedConfig<DpoConfig>& checked, const std::optional<ConfigData>& rows);
TimeForecast forecast_time(const CheckedConfig<DistillConfig>& checked, const std::optional<ConfigData>& rows);

/// Returns "time on this machine: about 41 s a step (sampling 30 s, ...), 2 h 17 min for 200 steps; with ..."
std::string to_text(const TimeForecast& forecast);

}  // namespace roll
