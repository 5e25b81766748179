#include "rollout/settings.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "config/flag.h"

namespace roll {

namespace {

constexpr size_t kMaxBiases = 1024;

}  // namespace

SamplingSettings sampling_settings(const GeneratingArgs& args) {
  check_ranges(args);
  if (!args.max_new_tokens) throw UserError("max_new_tokens: is not set; give the longest response in tokens");
  if (std::ranges::find(args.stop_strings, "") != args.stop_strings.end())
    throw UserError("stop_strings: holds an empty string, which would end every response at once; remove it");
  return {.max_new_tokens = *args.max_new_tokens,
          .temperature = args.do_sample.value_or(true) ? args.temperature : 0,
          .top_p = args.top_p,
          .top_k = std::max<int64_t>(args.top_k, 0),
          .min_p = args.min_p,
          .repetition_penalty = args.repetition_penalty,
          .presence_penalty = args.presence_penalty,
          .frequency_penalty = args.frequency_penalty,
          .stop_strings = args.stop_strings,
          .include_stop_str_in_output = args.include_stop_str_in_output,
          .skip_special_tokens = args.skip_special_tokens};
}

std::map<int64_t, double> token_biases(const std::map<std::string, double>& by_text, int64_t vocab_size,
                                       const std::string& key) {
  if (by_text.size() > kMaxBiases)
    throw user_error("{}: names {} tokens; at most {} are allowed", key, by_text.size(), kMaxBiases);
  std::map<int64_t, double> biases;
  for (const auto& [text, bias] : by_text) {
    int64_t token = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), token);
    if (error != std::errc() || end != text.data() + text.size() || token < 0 || token >= vocab_size)
      throw user_error("{}.{}: must be a token id of the model, 0..{}", key, text, vocab_size - 1);
    if (bias < -100 || bias > 100) throw user_error("{}.{} = {}: must be within -100 .. 100", key, text, bias);
    if (!biases.emplace(token, bias).second)
      throw user_error("{}.{}: names token {} again; name it once", key, text, token);
  }
  return biases;
}

CacheSettings cache_settings(const StrategyConfig& strategy) {
  return {.page_size = strategy.block_size,
          .max_pages = strategy.num_gpu_blocks_override.value_or(0),
          .memory_share = strategy.kv_cache_share()};
}

}  // namespace roll
