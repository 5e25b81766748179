#include "dist/traffic.h"

#include <fmt/format.h>

#include <utility>

namespace roll {

void Traffic::set_step(int64_t step) {
  const std::scoped_lock lock(mutex_);
  step_ = step;
}

int64_t Traffic::step() const {
  const std::scoped_lock lock(mutex_);
  return step_;
}

void Traffic::set_phase(std::string_view phase) {
  const std::scoped_lock lock(mutex_);
  phase_ = phase;
}

std::string Traffic::key(std::string_view group, std::string_view operation) const {
  const std::scoped_lock lock(mutex_);
  return traffic_key(group, operation);
}

std::string Traffic::traffic_key(std::string_view group, std::string_view operation) const {
  return fmt::format("{}/{}/{}", phase_, group, operation);
}

void Traffic::add_call(std::string_view group, std::string_view operation) {
  const std::scoped_lock lock(mutex_);
  ++counts_[traffic_key(group, operation)].calls;
}

void Traffic::add_bytes(std::string_view group, std::string_view operation, int64_t bytes) {
  const std::scoped_lock lock(mutex_);
  counts_[traffic_key(group, operation)].bytes += bytes;
}

std::map<std::string, TrafficCount> Traffic::take() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(counts_, {});
}

}  // namespace roll
