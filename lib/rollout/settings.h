// How one response is drawn: GeneratingArgs resolved, without spellings and keys that were not given.
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
  std::map<int64_t, double> logit_bias{};               // token -> what is added to its logit
  std::shared_ptr<const TokenConstraint> constraint{};  // which tokens may come; null: all
};

/// The KV cache of a sampler.
struct CacheSettings {
  int64_t page_size = 16;     // tokens
  int64_t max_pages = 0;      // 0: what memory holds
  double memory_share = 0.8;  // of a GPU's free memory
};

/// UserError "key = value: rule": a value out of its key's range, max_new_tokens that is not set, an empty stop string.
SamplingSettings sampling_settings(const GeneratingArgs& args);
/// JSON's {"17": -2.5, ...}, "token id": what is added to its logit, as token ids. `key` opens messages. UserError: an
/// id that the model does not have or that is named twice, a bias outside -100 .. 100, more than 1024 of them.
std::map<int64_t, double> token_biases(const std::map<std::string, double>& by_text, int64_t vocab_size,
                                       const std::string& key);
CacheSettings cache_settings(const StrategyConfig& strategy);

}  // namespace roll
