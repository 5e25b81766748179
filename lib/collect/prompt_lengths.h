// Mean response length of each prompt in earlier steps, for RolloutWorker, which starts prompts with long responses
// first. Sampled tokens do not depend on it, and a resumed run starts without it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "data/rows.h"

namespace roll {

class PromptLengths {
 public:
  /// Counts a response to the prompt `row`. `length`: tokens of the response.
  void add(const Row& row, int64_t length) {
    Sum& sum = sums_[row.origin];
    sum.tokens += length;
    ++sum.responses;
  }
  /// Returns the mean length in tokens; nullopt if the prompt was never sampled.
  std::optional<double> mean(const Row& row) const {
    const auto found = sums_.find(row.origin);
    if (found == sums_.end()) return std::nullopt;
    return static_cast<double>(found->second.tokens) / static_cast<double>(found->second.responses);
  }

 private:
  struct Sum {
    int64_t tokens = 0, responses = 0;
  };
  std::unordered_map<std::string, Sum> sums_;  // by Row::origin
};

}  // namespace roll
