// Sampling parameters of a response, resolved from GeneratingArgs: no unset keys and one spelling of each value.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dist/config.h"
#include "grammar/token_constraint.h"
#include "rollout/config.h"

namespace roll {

struct SamplingSettings {
  int64_t max_new_tokens = 0;
  double temperature = 1;  // 0: greedy
  double top_p = 1;
  int64_t top_k = 0;  // 0: all
  double min_p = 0;
  double repetition_penalty = 1, presence_penalty = 0, frequency_penalty = 0;
  std::vector<std::string> stop_strings{};
  bool include_stop_str_in_output = true;
  bool skip_special_tokens = true;
  std::map<int64_t, double> logit_bias{};               // token -> added to its logit
  std::shared_ptr<const TokenConstraint> constraint{};  // allowed tokens; null: all
};

/// Settings of a sampler's KV cache.
struct CacheSettings {
  int64_t page_size = 16;     // tokens
  int64_t max_pages = 0;      // 0: as many as fit into memory
  double memory_share = 0.8;  // share of the GPU's free memory
};

/// Resolves the keys. UserError "key = value: rule": a value is out of range, max_new_tokens is unset, a stop string
/// empty.
SamplingSettings sampling_settings(const GeneratingArgs& args);
/// Converts JSON's {"17": -2.5, ...} to token id -> logit bias. `key`: prefix of error messages. UserError: a token id
/// is unknown or named twice, a bias is outside -100 .. 100, or there are more than 1024.
std::map<int64_t, double> token_biases(const std::map<std::string, double>& by_text, int64_t vocab_size,
                                       const std::string& key);
/// Takes the cache settings from a strategy's keys.
CacheSettings cache_settings(const StrategyConfig& strategy);

}  // namespace roll
