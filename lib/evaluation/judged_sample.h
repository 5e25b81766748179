// One response to a prompt of a validation set, after its reward was computed; input of measured_set.h. Ranks send
// these to each other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace roll {

struct JudgedSample {
  int64_t prompt = 0;                   // index of the prompt in its validation set
  int64_t number = 0;                   // index of the response among those to the prompt
  std::string domain, tag;              // columns of the prompt's row
  bool is_judged = true;                // false: the reward failed, and `score` means nothing
  double score = 0;                     // the response is right if >= 1
  std::optional<std::string> answer{};  // final answer; "": the response has none; nullopt: this reward extracts none
  int64_t num_tokens = 0;               // generated tokens
  bool is_truncated = false;            // the response reached the length limit
  template <class F>
  void fields(F& field) {
    field("prompt", prompt), field("number", number), field("domain", domain), field("tag", tag);
    field("is_judged", is_judged), field("score", score), field("answer", answer), field("num_tokens", num_tokens);
    field("is_truncated", is_truncated);
  }
};

}  // namespace roll
