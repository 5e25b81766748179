#include "rollout/settings.h"

#include <algorithm>

#include "base/error.h"
#include "config/flag.h"

namespace roll {

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

CacheSettings cache_settings(const StrategyConfig& strategy) {
  return {.page_size = strategy.block_size,
          .max_pages = strategy.num_gpu_blocks_override.value_or(0),
          .memory_share = strategy.kv_cache_share()};
}

}  // namespace roll
