#include "jinja/budget.h"

#include <fmt/format.h>

#include <utility>

#include "jinja/value.h"

namespace roll::jinja {

namespace {

thread_local Budget* this_threads = nullptr;

}  // namespace

Budget::Budget(size_t most) : outer_(std::exchange(this_threads, this)), left_(most), most_(most) {}

Budget::~Budget() {
  this_threads = outer_;
}

void charge(size_t bytes) {
  if (!this_threads) return;
  if (bytes > this_threads->left_)
    throw Failure(fmt::format("the template does too much work: more than {} MB pass through it",
                              this_threads->most_ / 1'000'000));
  this_threads->left_ -= bytes;
}

}  // namespace roll::jinja
