// Lays out the screen of a run as styled lines; a pure function of the state and the terminal's size.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "track/sample.h"
#include "track/step_line.h"

namespace roll {

/// Parts of the display that stay constant over the run.
struct RunFace {
  std::string name;       // exp_name
  std::string model;      // one line
  std::string algorithm;  // one line
  Headline headline;
  std::vector<Shown> curves;  // up to four
};

/// Everything that a frame shows.
struct ScreenState {
  RunFace face;
  int64_t step = 0, last_step = 0;
  double step_s = 0;     // seconds per step; NaN: not known yet
  double in_step_s = 0;  // since the last step ended
  double elapsed_s = 0;  // since the run began
  std::string goal;      // goal_text()
  std::vector<std::vector<double>> curves;
  std::string status;      // current activity, e.g. the progress line
  bool is_active = false;  // false: `status` has finished
  bool is_stopping = false;
  std::optional<ShownSample> sample;
  std::vector<std::string> warnings;  // active warnings
  struct Line {
    LineKind kind;
    std::string text;
  };
  std::deque<Line> log;  // newest last
};

enum class Style { kPlain, kBold, kDim, kGood, kBad, kWarning, kCurve };

struct StyledText {
  std::string text;
  Style style = Style::kPlain;
};
using FrameLine = std::vector<StyledText>;

/// Returns at most `rows` lines of at most `columns`. If space is short, the sample goes first, then the curves, then
/// the model line.
std::vector<FrameLine> draw_frame(const ScreenState& state, int columns, int rows);

/// Returns the line with terminal codes, cut to `columns`; plain text if not `in_colour`.
std::string painted(const FrameLine& line, int columns, bool in_colour);

}  // namespace roll
