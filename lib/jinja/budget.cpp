#include "jinja/budget.h"

#include <fmt/format.h>

#include <utility>

#include "jinja/value.h"

namespace roll::jinja {

namespace {

// About a second, and less than 1 GB. A thousand messages of a thousand bytes each cost some ten million.
constexpr size_t kMaxBytes = 500'000'000;

thread_local Budget* this_threads = nullptr;

}  // namespace

Budget::Budget() : outer_(std::exchange(this_threads, this)) {}

Budget::~Budget() {
  this_threads = outer_;
}

void charge(size_t bytes) {
  if (!this_threads) return;
  this_threads->spent_ += bytes;
  if (this_threads->spent_ > kMaxBytes || bytes > kMaxBytes)
    throw Failure(
        fmt::format("the template does too much work: more than {} MB pass through it", kMaxBytes / 1'000'000));
}

}  // namespace roll::jinja
