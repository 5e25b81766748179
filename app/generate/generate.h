// The three modes of `roll generate` (responses, --chat, --bench) and their flags. add_generate() (generate.cpp) fills
// the flags and calls one mode, which loads the model by open_model().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/transformer.h"
#include "rollout/sampler.h"

namespace roll {

/// Values of the flags; `roll generate --help` explains each.
struct GenerateFlags {
  std::string model;                          // --model; add_generate() replaces it by the model's folder
  std::string template_name = "native";       // --template: name of a chat template; "native": the model's
  std::string device = "auto";                // --device
  std::string dtype = "auto";                 // --dtype: compute type, or "int8" or "int4" for weights of 8 or 4 bits
  std::string input = "-";                    // --input: file of prompts, if `prompts` is empty; "-": standard input
  std::optional<std::string> output;          // --out: file for JSON lines; unset: standard output
  std::optional<std::string> system;          // --system: system message of --chat and --as-message
  std::optional<std::string> trace;           // --trace: file that --bench writes a profiler trace to
  std::vector<std::string> prompts;           // --prompt
  bool as_message = false;                    // --as-message: apply the chat template to each of `prompts`
  bool chats = false;                         // --chat
  bool benches = false;                       // --bench
  bool keeps_special = false;                 // --keep-special: texts show special tokens
  bool writes_json = false;                   // --json: --bench prints JSON lines
  bool writes_processed = false;              // --processed-log-probs: output lines have "processed_log_probs"
  int64_t num_responses = 1;                  // --samples: responses per prompt
  int64_t kv_cache_mib = 0;                   // --kv-cache-mib: largest KV cache; 0: no limit
  int64_t page_size = 16;                     // --block-size: tokens per page of the KV cache
  int64_t prompt_tokens = 128;                // --prompt-tokens: length of the prompts of --bench
  std::vector<int64_t> batches = {1, 8, 32};  // --batch: numbers of sequences that --bench measures
  GeneratingArgs generating;  // --temperature, --top-p, ...; an input line's "sampling" object overrides them
  SamplingParams sampling;    // --seed, --max-length, ...; add_generate() sets sampling.generating from `generating`

  /// Returns 8 or 4 for weights of so many bits, else 0. Other tensors then have the compute type of "auto".
  int64_t weight_bits() const { return dtype == "int8" ? 8 : dtype == "int4" ? 4 : 0; }
};

/// Loads flags.model on flags.device in flags.dtype and makes the device the thread's current one. The model is
/// prepared for sequences of up to --max-length tokens (0: the model's limit), or with --bench for prompt plus
/// response. Throws UserError if --max-length exceeds the model's positions, or device or dtype cannot be used.
Transformer open_model(const GenerateFlags& flags);

/// Runs the mode without --chat and --bench: generates responses to the prompts of --input or --prompt and writes them.
void generate_responses(const GenerateFlags& flags);
/// Runs --chat: an interactive conversation over standard input and output.
void chat(const GenerateFlags& flags);
/// Runs --bench: prints prefill and decoding speed for each of flags.batches.
void bench_generation(const GenerateFlags& flags);

}  // namespace roll
