// The three modes of `roll generate` (responses, --chat, --bench) and their common flags.
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
  GeneratingArgs generating;  // defaults, which an input line's "sampling" object overrides
  SamplingParams sampling;

  /// Returns true for int8 weights; other tensors then have the dtype of auto.
  bool reads_int8() const { return dtype == "int8"; }
};

/// Loads --model on --device in --dtype, for sequences up to --max-length (--bench: the benchmark's length), and makes
/// the device the thread's current one. UserError: --max-length exceeds the model's positions.
Transformer open_model(const GenerateFlags& flags);

/// Generates responses to the prompts of --input or --prompt.
void generate_responses(const GenerateFlags& flags);
/// Runs --chat: an interactive conversation.
void chat(const GenerateFlags& flags);
/// Runs --bench: prints prefill and decoding speed.
void bench_generation(const GenerateFlags& flags);

}  // namespace roll
