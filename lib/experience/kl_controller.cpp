#include "experience/kl_controller.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace roll {

KlController::KlController(const ExperienceConfig& config)
    : target_(config.target_kl), horizon_(static_cast<double>(config.kl_horizon)), coefficient_(config.init_kl_coef) {}

void KlController::update(double kl, int64_t num_sequences) {
  if (!target_) return;
  const double error = std::clamp(kl / *target_ - 1, -0.2, 0.2);
  coefficient_ *= 1 + error * static_cast<double>(num_sequences) / horizon_;
}

Json KlController::state() const {
  return {{"kl_coef", coefficient_}};
}

void KlController::load_state(const Json& state) {
  coefficient_ = state.at("kl_coef").get<double>();
}

}  // namespace roll
