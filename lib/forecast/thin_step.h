// A step of which only lengths, groups and domains are known: all that plans over ranks are made of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "records/rollout_record.h"

namespace roll {

struct ThinStep {
  int64_t number = 1;
  int64_t group_size = 1;
  std::vector<int64_t> prompt_lengths, response_lengths;  // [B] tokens, group after group
  std::vector<std::string> domain_of_group;
  std::vector<std::vector<Turn>> turns{};  // [B] of recorded ones; empty: in an environment a response is one turn

  int64_t num_sequences() const { return std::ssize(prompt_lengths); }
  int64_t num_groups() const { return std::ssize(domain_of_group); }
  /// [B] prompt and response.
  std::vector<int64_t> lengths() const {
    std::vector<int64_t> all = prompt_lengths;
    for (size_t i = 0; i < all.size(); ++i) all[i] += response_lengths[i];
    return all;
  }
};

}  // namespace roll
