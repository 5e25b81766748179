#include "track/screen.h"

#include <algorithm>
#include <cmath>

#include "base/harmless.h"
#include "process/stop.h"

namespace roll {

namespace {

constexpr auto kPeriod = std::chrono::milliseconds(250);
constexpr double kSample_s = 5;
constexpr int kRepaintEvery = 8;  // every n-th draw repaints all, over foreign output
constexpr size_t kMaxLogLines = 100, kMaxFinalLines = 40;
// "Synchronized update" avoids flicker; terminals without it ignore the code.
constexpr std::string_view kBeginFrame = "\033[?2026h\033[?25l", kEndFrame = "\033[?25h\033[?2026l";
constexpr std::string_view kEraseScreen = "\033[H\033[J";

}  // namespace

bool has_room(const Terminal& terminal) {
  return terminal.interactive && terminal.columns >= 40 && terminal.rows >= 12;
}

RunScreen::RunScreen(ScreenOptions options) : options_(std::move(options)) {}

RunScreen::~RunScreen() {
  end(/*warns=*/true);
}

void RunScreen::close() {
  end(/*warns=*/false);
}

void RunScreen::begin(RunFace face, int64_t first_step, int64_t last_step) {
  const std::lock_guard lock(mutex_);
  state_.curves.resize(face.curves.size());
  state_.face = std::move(face);
  state_.step = first_step - 1;
  state_.last_step = last_step;
  state_.step_s = std::nan("");
  run_watch_.restart();
  step_watch_.restart();
  const int rows = options_.terminal().rows;
  options_.write(std::string(static_cast<size_t>(std::max(0, rows - 1)), '\n'));  // scrolls existing output up
  drawer_ = std::jthread([this](const std::stop_token& stop) { draw_until_stopped(stop); });
}

void RunScreen::show_step(const MetricHistory& history, std::vector<std::string> warnings) {
  const std::lock_guard lock(mutex_);
  state_.step = std::max<int64_t>(0, history.step());
  state_.step_s = seconds_per_step(history);
  state_.goal = goal_text(state_.face.headline, history);
  state_.warnings = std::move(warnings);
  for (size_t i = 0; i < state_.curves.size(); ++i) {
    state_.curves[i].clear();
    for (const MetricPoint& point : history.points(state_.face.curves[i].metric))
      state_.curves[i].push_back(point.value);
  }
  step_watch_.restart();
}

void RunScreen::show_sample(ShownSample sample) {
  const std::lock_guard lock(mutex_);
  if (state_.sample && !sample.is_validation && sample_watch_.seconds() < kSample_s) return;
  sample_watch_.restart();
  state_.sample = std::move(sample);
}

void RunScreen::show(std::string_view line, LineKind kind) {
  const std::lock_guard lock(mutex_);
  while (!line.empty()) {
    const size_t end = std::min(line.find('\n'), line.size());
    state_.log.push_back({kind, std::string(line.substr(0, end))});
    if (kind == LineKind::kSaid) final_lines_.emplace_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  while (state_.log.size() > kMaxLogLines) state_.log.pop_front();
  if (final_lines_.size() > kMaxFinalLines)
    final_lines_.erase(final_lines_.begin(), final_lines_.end() - kMaxFinalLines);
}

void RunScreen::show_status(std::string_view line) {
  const std::lock_guard lock(mutex_);
  state_.is_active = !line.empty();
  if (state_.is_active) state_.status = line;
}

void RunScreen::end(bool warns) {
  if (!drawer_.joinable()) return;
  drawer_ = {};
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const std::string& line : final_lines_) text += line + "\n";
  if (!state_.goal.empty()) text += fmt::format("step {}/{}: {}\n", state_.step, state_.last_step, state_.goal);
  for (const std::string& warning : state_.warnings)
    if (warns) text += "warning: " + warning + "\n";
  options_.write(std::string(kEraseScreen) + harmless(text));
}

void RunScreen::draw_until_stopped(const std::stop_token& stop) {
  std::mutex wait_mutex;
  std::unique_lock lock(wait_mutex);
  for (int i = 0; !stop.stop_requested(); ++i) {
    draw(i % kRepaintEvery == 0);
    woken_.wait_for(lock, stop, kPeriod, [] { return false; });
  }
}

void RunScreen::draw(bool repaints_all) {
  const std::lock_guard lock(mutex_);
  const Terminal terminal = options_.terminal();
  // The last column stays free, because some terminals wrap there. The last row stays free for the cursor.
  const int columns = terminal.columns - 1, rows = terminal.rows - 1;
  repaints_all |= columns != columns_ || rows != rows_;
  columns_ = columns;
  rows_ = rows;
  state_.elapsed_s = run_watch_.seconds();
  state_.in_step_s = step_watch_.seconds();
  state_.is_stopping = requested_stop().has_value();
  std::vector<std::string> lines;
  for (const FrameLine& line : draw_frame(state_, columns, rows))
    lines.push_back(painted(line, columns, options_.in_colour));
  lines.resize(static_cast<size_t>(std::max(0, rows)));
  std::string text;
  for (size_t row = 0; row < lines.size(); ++row)
    if (repaints_all || lines[row] != painted_lines_[row])
      text += fmt::format("\033[{};1H{}\033[K", row + 1, lines[row]);
  painted_lines_ = std::move(lines);
  if (text.empty()) return;
  options_.write(
      fmt::format("{}{}\033[{};1H{}{}", kBeginFrame, text, rows + 1, repaints_all ? "\033[J" : "", kEndFrame));
}

}  // namespace roll
