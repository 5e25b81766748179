#include "jinja/budget.h"

#include <fmt/format.h>

#include <utility>

#include "jinja/value.h"

namespace roll::jinja {

namespace {

thread_local Budget* current_budget = nullptr;

}  // namespace

Budget::Budget(size_t max_bytes)
    : outer_(std::exchange(current_budget, this)), bytes_left_(max_bytes), max_bytes_(max_bytes) {}

Budget::~Budget() {
  current_budget = outer_;
}

void charge(size_t bytes) {
  if (!current_budget) return;
  if (bytes > current_budget->bytes_left_)
    throw Failure(fmt::format("the template does too much work: it processes more than {} MB",
                              current_budget->max_bytes_ / 1'000'000));
  current_budget->bytes_left_ -= bytes;
}

}  // namespace roll::jinja
