// Forecasts a run's time on this machine: the work of a planned step (simulation.h) at measured speeds (model_trial.h).
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
  double step_s = 0;
  int64_t num_steps = 0;      // 0: unknown
  std::string assumed{};      // in words: lengths that cannot be known before the run
  std::string why_unknown{};  // reason if there is no forecast, else ""
};

/// Measures every role that computes in a step of these lengths. nullopt: the configured device is missing, or the
/// models' shapes are unknown or too large.
std::optional<MeasuredSpeeds> measure_speeds(const CheckedConfig<Config>& checked, const ThinStep& step);

/// Forecasts a run's time. `rows`: from view_data(). Without rows, responses are assumed to have full length, to
/// prompts of prompt_length / 4; with rows, the policy samples some to measure their length.
TimeForecast forecast_time(const CheckedConfig<Config>& checked, const std::optional<ConfigData>& rows);
TimeForecast forecast_time(const CheckedConfig<SftConfig>& checked, const std::optional<ConfigData>& rows);
TimeForecast forecast_time(const CheckedConfig<DpoConfig>& checked, const std::optional<ConfigData>& rows);
TimeForecast forecast_time(const CheckedConfig<DistillConfig>& checked, const std::optional<ConfigData>& rows);

/// Returns "time on this machine: about 41 s a step (sampling 30 s, ...), 2 h 17 min for 200 steps; with ..."
std::string to_text(const TimeForecast& forecast);

}  // namespace roll
