// Lays out the full-screen view of a run (screen.h) as styled lines, from a state and the terminal's size alone.
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
  std::string name;           // exp_name
  std::string model;          // one line that describes the model
  std::string algorithm;      // one line that describes the training
  Headline headline;          // metrics of the summary line (step_line.h)
  std::vector<Shown> curves;  // metrics drawn as curves, at most four
};

/// Everything that a frame shows.
struct ScreenState {
  RunFace face;
  int64_t step = 0;                         // last finished step; 0: none
  int64_t last_step = 0;                    // step at which the run ends
  double step_s = 0;                        // mean seconds per step of the newest 20 steps; NaN: no step has ended
  double in_step_s = 0;                     // seconds since the last step ended
  double elapsed_s = 0;                     // seconds since the run began
  std::string goal;                         // goal_text() (step_line.h): "score 0.71 (best 0.78 @ 3)"; "": no value yet
  std::vector<std::vector<double>> curves;  // [curve][i] values of face.curves, in the order of steps
  std::string status;                       // newest activity, e.g. the line of a Progress
  bool is_active = false;                   // true: the activity of `status` goes on; false: it has ended
  bool is_stopping = false;                 // the user has asked the run to stop
  std::optional<ShownSample> sample;        // newest sample; nullopt: none yet
  std::vector<std::string> warnings;        // texts of the active warnings (WarningWatch::is_active())
  struct Line {
    LineKind kind;
    std::string text;
  };
  std::deque<Line> log;  // newest last
};

/// Appearance of a text; kCurve is that of curves.
enum class Style { kPlain, kBold, kDim, kGood, kBad, kWarning, kCurve };

struct StyledText {
  std::string text;
  Style style = Style::kPlain;
};
/// One line, as texts from left to right.
using FrameLine = std::vector<StyledText>;

/// Returns the frame: at most `rows` lines of at most `columns` columns. If space is short, leaves out the sample
/// first, then the curves, then the model line.
std::vector<FrameLine> draw_frame(const ScreenState& state, int columns, int rows);

/// Returns the line as text with terminal codes for its styles, cut to `columns`; without codes if not `in_colour`.
std::string painted(const FrameLine& line, int columns, bool in_colour);

}  // namespace roll
