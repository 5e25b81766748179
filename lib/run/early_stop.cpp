#include "run/early_stop.h"

#include <nlohmann/json.hpp>

namespace roll {

void EarlyStop::observe(double value) {
  const double gain = best_ ? (greater_is_better_ ? value - *best_ : *best_ - value) : 0;
  waited_ = !best_ || gain > threshold_ ? 0 : waited_ + 1;
  if (!best_ || gain > 0) best_ = value;
}

Json EarlyStop::state() const {
  return {{"best", best_ ? Json(*best_) : Json()}, {"waited", waited_}};
}

void EarlyStop::load(const Json& state) {
  if (!state.is_object() || !state.contains("best") || !state["best"].is_number()) return;
  best_ = state["best"].get<double>();
  waited_ = state.value("waited", int64_t{0});
}

}  // namespace roll
