// What a run's screen shows, as lines of text with styles: a pure function of what is known and of the room there is.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "track/sample.h"
#include "track/step_line.h"

namespace roll {

/// What a run shows of itself, on the screen and in its lines.
struct RunFace {
  std::string name;       // exp_name
  std::string model;      // one line
  std::string algorithm;  // one line
  Headline headline;
  std::vector<Shown> curves;  // up to four
};

struct ScreenState {
  RunFace face;
  int64_t step = 0, last_step = 0;
  double step_s = 0;     // seconds per step; NaN: not known yet
  double in_step_s = 0;  // since the last step ended
  double elapsed_s = 0;  // since the run began
  std::string goal;      // goal_text()
  std::vector<std::vector<double>> curves;
  std::string status;      // what is being done
  bool is_active = false;  // false: that has ended
  bool is_stopping = false;
  std::optional<ShownSample> sample;
  std::vector<std::string> warnings;  // that hold now
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

/// At most `rows` lines for `columns`. What matters least goes first where there is little room: the sample, then the
/// curves, then the model's line.
std::vector<FrameLine> frame_of(const ScreenState& state, int columns, int rows);

/// The line for a terminal, cut to `columns`; without colour, its text alone.
std::string painted(const FrameLine& line, int columns, bool in_colour);

}  // namespace roll
