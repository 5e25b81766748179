// Shows a run on rank 0 in the whole terminal window. A thread redraws changed lines in place. It does not use the
// terminal's alternate screen, so that a killed process leaves a clean terminal. Other programs' output is soon painted
// over.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/terminal.h"
#include "track/screen_frame.h"

namespace roll {

/// Access to the terminal, and style.
struct ScreenOptions {
  std::function<void(std::string_view)> write;  // writes to the terminal in one call
  std::function<Terminal()> terminal;           // returns the terminal with its current size
  bool in_colour = true;                        // false: no colours or other styles
};

/// The screen, set as the view of the run's Log (base/log.h), which then calls show() and show_status(). Thread-safe.
class RunScreen : public LogView {
 public:
  explicit RunScreen(ScreenOptions options);
  /// If close() was not called, the run has failed: closes the screen, then prints the active warnings.
  ~RunScreen() override;

  /// Takes over the terminal and starts to draw; call it once. `first_step`: the first step that will run (from 1);
  /// `last_step`: the step at which the run ends.
  void begin(RunFace face, int64_t first_step, int64_t last_step);
  /// Shows the newest step of the history. `warnings`: texts of the active warnings (WarningWatch::is_active()).
  void show_step(const MetricHistory& history, std::vector<std::string> warnings);
  /// Shows a sample. A training sample is dropped if the shown one is younger than 5 s; a validation sample never.
  void show_sample(ShownSample sample);
  void show(std::string_view line, LineKind kind) override;
  void show_status(std::string_view line) override;
  /// Stops drawing, clears the screen, and prints the latest lines of kind LineKind::kSaid (at most 40) and the last
  /// step as plain lines. Does nothing before begin() or when called again.
  void close();

 private:
  void draw_until_stopped(const std::stop_token& stop);
  void draw(bool repaints_all);
  void end(bool warns);

  ScreenOptions options_;
  std::mutex mutex_;  // guards everything below
  ScreenState state_;
  Stopwatch run_watch_, step_watch_, sample_watch_;
  std::vector<std::string> final_lines_;    // messages for close()
  std::vector<std::string> painted_lines_;  // lines on the terminal
  int columns_ = 0, rows_ = 0;
  std::condition_variable_any woken_;
  std::jthread drawer_;  // last member: stops before the others are destroyed
};

/// Returns true if the terminal is interactive and large enough for the screen: 40 columns and 12 rows.
bool has_room(const Terminal& terminal);

}  // namespace roll
