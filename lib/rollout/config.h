// YAML keys of sampling (generating_args); settings.h resolves them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/keys.h"

namespace roll {

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
    v("temperature", temperature, "logits are divided by it; 0 is greedy", within(1e-3, 1e3).or_also(0));
    v("top_p", top_p, "smallest set of tokens with this probability; 1 is off", above_to(0, 1));
    v("top_k", top_k, "only the k most likely tokens; 0 or -1: all", at_least(-1));
    v("min_p", min_p, "only tokens with at least min_p x the largest probability; 0 is off", within(0, 1));
    v("repetition_penalty", repetition_penalty,
      "logits of tokens seen before are divided (multiplied below 0) by it; 1 is off", within(0.001, 1000));
    v("presence_penalty", presence_penalty, "taken off the logits of generated tokens, once",
      within(-1'000'000, 1'000'000));
    v("frequency_penalty", frequency_penalty, "taken off the logits of generated tokens, per occurrence",
      within(-1'000'000, 1'000'000));
    v("stop_strings", stop_strings, "a response ends where its text holds one of these");
    v("include_stop_str_in_output", include_stop_str_in_output, "the stop string stays in the response's text");
    v("skip_special_tokens", skip_special_tokens,
      "the response's text leaves special tokens out, but for marks of calls");
    v("num_return_sequences", num_return_sequences, "responses per prompt; null: num_return_sequences_in_group",
      sequence_range());
    v("do_sample", do_sample, "false: greedy, whatever the temperature");
    v.refused_above_one({"num_beams"}, "beam search is no sampling from a policy; set it to 1");
  }
};

}  // namespace roll
