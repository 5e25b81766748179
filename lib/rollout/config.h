// Keys of the YAML configuration that control sampling: those of `generating_args`, which sampling_settings()
// (settings.h) checks and resolves, and `speculation`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/names.h"
#include "config/keys.h"

namespace roll {

/// When the sampler guesses tokens (token_guesser.h).
enum class Speculation { kAuto, kNone };
constexpr auto enum_names(Speculation) {
  return std::to_array<Named<Speculation>>({{Speculation::kAuto, "auto"}, {Speculation::kNone, "none"}});
}
/// Help text of the key and of the flag --speculation.
inline constexpr const char* kSpeculationHelp =
    "auto: guesses tokens where text repeats, and computes several in one step; the responses stay the same, bit by "
    "bit; only on a CPU, for models without recurrent layers. none: one token per step";

/// Values of the keys; fields() describes each.
struct GeneratingArgs {
  std::optional<int64_t> max_new_tokens;
  double temperature = 0.95;
  double top_p = 0.7;
  int64_t top_k = 50;
  double min_p = 0;
  double repetition_penalty = 1;
  double presence_penalty = 0;
  double frequency_penalty = 0;
  std::vector<std::string> stop_strings;
  bool include_stop_str_in_output = true;
  bool skip_special_tokens = true;
  std::optional<int64_t> num_return_sequences;
  std::optional<bool> do_sample;

  void fields(Keys& v) {
    v("max_new_tokens", max_new_tokens, "longest response in tokens; null: response_length", token_range());
    v("temperature", temperature, "divides the logits; 0: greedy", within(1e-3, 1e3).or_also(0));
    v("top_p", top_p, "samples from the smallest set of tokens with this total probability; 1: off", above_to(0, 1));
    v("top_k", top_k, "samples from the k most likely tokens; 0 or -1: all tokens", at_least(-1));
    v("min_p", min_p, "samples from tokens with at least min_p x the largest probability; 0: off", within(0, 1));
    v("repetition_penalty", repetition_penalty,
      "divides positive logits of earlier tokens, and multiplies negative ones; 1: off", within(0.001, 1000));
    v("presence_penalty", presence_penalty, "subtracted from the logits of generated tokens, once",
      within(-1'000'000, 1'000'000));
    v("frequency_penalty", frequency_penalty, "subtracted from the logits of generated tokens, per occurrence",
      within(-1'000'000, 1'000'000));
    v("stop_strings", stop_strings, "a response ends when its text contains one of these");
    v("include_stop_str_in_output", include_stop_str_in_output, "keeps the stop string in the response's text");
    v("skip_special_tokens", skip_special_tokens,
      "leaves special tokens out of the response's text, except marks of tool calls");
    v("num_return_sequences", num_return_sequences, "responses per prompt; null: num_return_sequences_in_group",
      sequence_range());
    v("do_sample", do_sample, "false: greedy, whatever the temperature");
    v.refused_above_one({"num_beams"}, "beam search does not sample from the policy; set it to 1");
  }
};

}  // namespace roll
