// Settings for sampling a response, and settings of the KV cache, resolved from configuration keys: nothing is unset,
// and each effect has one value (e.g. "all tokens" is top_k 0, never -1).
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

/// Settings of one response. GeneratingArgs (config.h) describes the keys of the same names.
struct SamplingSettings {
  int64_t max_new_tokens = 0;
  double temperature = 1;         // 0: greedy
  double top_p = 1;               // 1: off
  int64_t top_k = 0;              // 0: all tokens
  double min_p = 0;               // 0: off
  double repetition_penalty = 1;  // 1: off
  double presence_penalty = 0;
  double frequency_penalty = 0;
  std::vector<std::string> stop_strings{};
  bool include_stop_str_in_output = true;
  bool skip_special_tokens = true;
  std::map<int64_t, double> logit_bias{};               // token id -> number added to its logit
  std::shared_ptr<const TokenConstraint> constraint{};  // grammar that the response must follow; null: none
};

/// Settings of a sampler's KV cache.
struct CacheSettings {
  int64_t page_size = 16;     // tokens per page
  int64_t max_pages = 0;      // 0: as many as fit into memory_share
  double memory_share = 0.8;  // share (0 to 1) of the GPU memory that model and steps leave free
};

/// Resolves the configuration keys. Throws UserError ("key = value: rule") if a value is out of range, max_new_tokens
/// is unset, or a stop string is empty.
SamplingSettings sampling_settings(const GeneratingArgs& args);
/// Returns logit biases by token id. `by_text`: a JSON object such as {"17": -2.5, ...}, with token ids as text. `key`:
/// name of the object in error messages. Throws UserError if a token id is unknown or named twice, a bias is outside
/// -100 .. 100, or there are more than 1024.
std::map<int64_t, double> token_biases(const std::map<std::string, double>& by_text, int64_t vocab_size,
                                       const std::string& key);
/// Returns the cache settings in a role's strategy_config.
CacheSettings cache_settings(const StrategyConfig& strategy);

}  // namespace roll
