// Shows a prompt with its response and verdict on the screen and in the log, shortened.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace roll {

/// A prompt, its response and how it was judged, with full texts. It is also a part of messages between ranks.
struct ShownSample {
  int64_t step = 0;
  bool is_validation = false;  // sampled in the validation at `step`, not for training
  std::string prompt, response;
  std::string verdict;   // "right (score 1)", "wrong (score 0), cut off at the length limit"
  std::string expected;  // ground truth of the row; "" if it has none or the response is right
  template <class F>
  void fields(F& field) {
    field("step", step), field("is_validation", is_validation), field("prompt", prompt);
    field("response", response), field("verdict", verdict), field("expected", expected);
  }
};

/// Returns a text as one line of at most `columns` terminal columns: "first words … last words".
std::string shortened(const std::string& text, int columns);

/// Returns three lines "  prompt    ...", "  response  ..." and "  verdict   ...", each at most `columns` wide.
std::vector<std::string> sample_lines(const ShownSample& sample, int columns);

}  // namespace roll
