// SampleIndex identifies a response of a step, even before it is sampled.
#pragma once

#include <compare>
#include <cstdint>

namespace roll {

/// Response `number` (from 0) to the prompt with index `prompt` in the step.
struct SampleIndex {
  int64_t prompt = 0, number = 0;
  template <class F>
  void fields(F& field) {
    field("prompt", prompt), field("number", number);
  }
  auto operator<=>(const SampleIndex&) const = default;
};

}  // namespace roll
