// What an evaluation needs to know of a response; ranks send it to each other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace roll {

struct JudgedSample {
  int64_t prompt = 0;  // of its set
  int64_t number = 0;  // which response to the prompt
  std::string domain, tag;
  bool is_judged = true;
  double score = 0;                     // 1 or more is right
  std::optional<std::string> answer{};  // that the reward found; "": none; nullopt: the reward looked for none
  int64_t num_tokens = 0;               // that the model drew
  bool is_truncated = false;            // cut off at its longest
  template <class F>
  void fields(F& field) {
    field("prompt", prompt), field("number", number), field("domain", domain), field("tag", tag);
    field("is_judged", is_judged), field("score", score), field("answer", answer), field("num_tokens", num_tokens);
    field("is_truncated", is_truncated);
  }
};

}  // namespace roll
