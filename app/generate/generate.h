// The three uses of `roll generate`, and the flags that they share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/transformer.h"
#include "rollout/sampler.h"

namespace roll {

struct GenerateFlags {
  std::string model, template_name = "native", device = "auto", dtype = "auto";
  std::string input = "-";
  std::optional<std::string> output, system, trace;
  std::vector<std::string> prompts;
  bool as_message = false, chats = false, benches = false, keeps_special = false, writes_json = false,
       with_processed = false;
  int64_t num_responses = 1, kv_cache_mib = 0, page_size = 16, prompt_tokens = 128;
  std::vector<int64_t> batches = {1, 8, 32};
  GeneratingArgs generating;  // as given; a line's own "sampling" goes out from them
  SamplingParams sampling;

  /// Whether the sampler reads weights of 8 bits; all else is then as with auto.
  bool reads_int8() const { return dtype == "int8"; }
};

/// The model of --model on --device in --dtype, for sequences as long as --max-length or the benchmark's; that device
/// is the thread's from here on. UserError: --max-length is more than it has positions.
Transformer open_model(const GenerateFlags& flags);

/// Prompts of --input or --prompt to responses.
void generate_responses(const GenerateFlags& flags);
/// --chat
void chat(const GenerateFlags& flags);
/// --bench
void bench_generation(const GenerateFlags& flags);

}  // namespace roll
