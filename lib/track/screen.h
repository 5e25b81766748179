// The screen of a run on a terminal: redrawn in place by a thread of its own, whole lines at a time and only those that
// changed. It fills the terminal without taking its other buffer, so that a process that is killed leaves a clean one,
// and whatever others print is painted over soon.
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

struct ScreenOptions {
  std::function<void(std::string_view)> write;  // to the terminal, all at once
  std::function<Terminal()> terminal;           // its size now
  bool in_colour = true;
};

class RunScreen : public LogView {
 public:
  explicit RunScreen(ScreenOptions options);
  /// close(), and the warnings that hold: something has gone wrong.
  ~RunScreen() override;

  /// From here on the terminal is the screen's.
  void begin(RunFace face, int64_t first_step, int64_t last_step);
  /// The history's newest step is done; `warnings` hold.
  void show_step(const MetricHistory& history, std::vector<std::string> warnings);
  /// A step's sample stays for a while; validation's come at once.
  void show_sample(ShownSample sample);
  void show(std::string_view line, LineKind kind) override;
  void show_status(std::string_view line) override;
  /// Gives the terminal back, with what was said and the last step as plain lines.
  void close();

 private:
  void draw_until_stopped(const std::stop_token& stop);
  void draw(bool whole);
  void end(bool warns);

  ScreenOptions options_;
  std::mutex mutex_;  // of all below
  ScreenState state_;
  Stopwatch run_watch_, step_watch_, sample_watch_;
  std::vector<std::string> kept_;     // for close()
  std::vector<std::string> painted_;  // what is on the terminal
  int columns_ = 0, rows_ = 0;
  std::condition_variable_any woken_;
  std::jthread drawer_;  // last: it ends before what it draws
};

/// Whether a terminal is one that a screen fits on.
bool has_room(const Terminal& terminal);

}  // namespace roll
