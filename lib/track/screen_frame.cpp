#include "track/screen_frame.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include "base/clock.h"
#include "base/harmless.h"
#include "track/curve.h"

namespace roll {

namespace {

constexpr int kFewestLogLines = 3;

constexpr std::array<const char*, 7> kCodes = {"",         "\033[1m",  "\033[2m", "\033[32m",
                                               "\033[31m", "\033[33m", "\033[36m"};  // by Style

std::string repeated(const char* text, int count) {
  std::string line;
  for (int i = 0; i < count; ++i) line += text;
  return line;
}

std::string padded(const std::string& text, int columns) {
  const std::string cut = cut_to_width(text, columns);
  return cut + std::string(static_cast<size_t>(std::max(0, columns - display_width(cut))), ' ');
}

FrameLine rule(const std::string& title, int columns) {
  const std::string head = "── " + title + " ";
  return {{head + repeated("─", columns - display_width(head)), Style::kDim}};
}

/// Returns the time per step and the time left in the run; the time since the last step counts.
std::string time_left(const ScreenState& state) {
  if (!std::isfinite(state.step_s) || state.step >= state.last_step) return "";
  const double left = state.step_s * static_cast<double>(state.last_step - state.step) - state.in_step_s;
  return fmt::format("{}/step · {} left", duration_text(state.step_s), duration_text(std::max(0.0, left)));
}

FrameLine progress_line(const ScreenState& state, int columns) {
  const std::string head = fmt::format("step {}/{} ", state.step, state.last_step);
  const std::string times = time_left(state), tail = times.empty() ? "" : " " + times;
  const int width = std::max(0, columns - display_width(head) - display_width(tail));
  const double share = static_cast<double>(state.step) / static_cast<double>(std::max<int64_t>(1, state.last_step));
  const int done = static_cast<int>(share * width);
  return {
      {head, Style::kBold}, {repeated("━", done), Style::kGood}, {repeated("─", width - done), Style::kDim}, {tail}};
}

FrameLine status_line(const ScreenState& state) {
  if (state.is_stopping)
    return {{"stopping: saves as soon as possible; press Ctrl-C again to end at once", Style::kWarning}};
  std::string left;
  if (std::isfinite(state.step_s) && state.step < state.last_step)
    left = fmt::format(" · this step: {} left", duration_text(std::max(0.0, state.step_s - state.in_step_s)));
  return {{state.status, state.is_active ? Style::kPlain : Style::kDim}, {left, Style::kDim}};
}

std::vector<FrameLine> header_lines(const ScreenState& state, int columns, int rows) {
  std::vector<FrameLine> lines;
  const std::string elapsed = duration_text(state.elapsed_s);
  const int room = columns - display_width(elapsed) - 1;
  lines.push_back(
      {{padded(fmt::format("roll · {}", state.face.name), room), Style::kBold}, {" " + elapsed, Style::kDim}});
  if (rows >= 16) lines.push_back({{state.face.model, Style::kDim}});
  if (rows >= 18 && !state.face.algorithm.empty()) lines.push_back({{state.face.algorithm, Style::kDim}});
  lines.push_back(progress_line(state, columns));
  lines.push_back(status_line(state));
  return lines;
}

/// Interpolates the values to `count` points, so that the curve of a young run fills the width.
std::vector<double> stretched(const std::vector<double>& values, size_t count) {
  if (values.size() < 2 || values.size() >= count) return values;
  std::vector<double> line;
  for (size_t i = 0; i < count; ++i) {
    const double position = static_cast<double>(i * (values.size() - 1)) / static_cast<double>(count - 1);
    const size_t left = std::min(static_cast<size_t>(position), values.size() - 2);
    line.push_back(std::lerp(values[left], values[left + 1], position - static_cast<double>(left)));
  }
  return line;
}

/// Returns a title and a curve, `width` wide, `height` + 1 lines.
std::vector<std::string> panel(const ScreenState& state, size_t curve, int width, int height) {
  const std::vector<double>& values = state.curves[curve];
  const Shown& shown = state.face.curves[curve];
  const bool is_goal = shown.metric == state.face.headline.goal.metric;
  std::string title = values.empty() ? shown.word + ": nothing yet" : shown.word + " " + short_number(values.back());
  if (is_goal && !state.goal.empty()) title = state.goal;
  if (display_width(title) > width)
    title = title.substr(0, title.find(" @")) + ")";  // drops the step of the best value
  std::vector<std::string> lines = {padded(title, width)};
  // The axis is as wide as its longest number, which only the plot knows and which depends on its width.
  std::string picture = plot_curve(values, width, height);
  const int axis = display_width(picture.substr(0, picture.find("┤"))) + 1;
  const int room = std::max(4, width - axis - 2);
  picture = plot_curve(stretched(values, static_cast<size_t>(2 * room)), room, height);
  const int excess = display_width(picture.substr(0, picture.find('\n'))) - width;
  if (excess > 0 && room > excess)
    picture = plot_curve(stretched(values, static_cast<size_t>(2 * (room - excess))), room - excess, height);
  std::istringstream in(picture);
  for (std::string line; std::getline(in, line);) lines.push_back(padded(line, width));
  lines.resize(static_cast<size_t>(height) + 1, padded("", width));
  return lines;
}

std::vector<FrameLine> curve_lines(const ScreenState& state, int columns, size_t num_columns, int height) {
  const int gap = 2, width = (columns - gap * static_cast<int>(num_columns - 1)) / static_cast<int>(num_columns);
  std::vector<FrameLine> lines;
  for (size_t first = 0; first < state.curves.size(); first += num_columns) {
    std::vector<std::vector<std::string>> panels;
    for (size_t i = first; i < std::min(first + num_columns, state.curves.size()); ++i)
      panels.push_back(panel(state, i, width, height));
    for (size_t row = 0; row <= static_cast<size_t>(height); ++row) {
      FrameLine line;
      for (const auto& panel_lines : panels) {
        if (!line.empty()) line.push_back({std::string(gap, ' ')});
        line.push_back({panel_lines[row], row == 0 ? Style::kBold : Style::kCurve});
      }
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

std::vector<FrameLine> sample_block(const ShownSample& sample, int columns) {
  std::vector<FrameLine> lines = {
      rule(fmt::format("{} step {}", sample.is_validation ? "validation after" : "sample of", sample.step), columns)};
  for (const std::string& line : sample_lines(sample, columns)) lines.push_back({{line}});
  const auto verdict_starts = [&](const char* word) { return sample.verdict.starts_with(word); };
  lines.back()[0].style = verdict_starts("right")                            ? Style::kGood
                          : verdict_starts("wrong") || verdict_starts("not") ? Style::kBad
                                                                             : Style::kPlain;
  return lines;
}

Style line_style(LineKind kind) {
  return kind == LineKind::kWarning ? Style::kWarning : kind == LineKind::kSaid ? Style::kPlain : Style::kDim;
}

/// Returns all warnings, newest first: at least the first line of each, in full if there is room. If even the first
/// lines do not fit, the oldest are only counted.
std::vector<std::string> warning_lines(const std::vector<std::string>& warnings, int columns, int room) {
  if (warnings.empty() || room < 1) return {};
  const auto count = static_cast<int>(warnings.size());
  const int shown = count <= room ? count : room - 1;
  int spare = room - count;  // lines left after the first of each
  std::vector<std::string> lines;
  for (int i = 0; i < shown; ++i) {
    const std::string text = "! " + warnings[warnings.size() - 1 - static_cast<size_t>(i)];
    std::vector<std::string> whole = wrapped(text, columns, "  ");
    if (std::ssize(whole) - 1 > spare) whole = {cut_to_width(text, columns)};
    spare -= static_cast<int>(whole.size()) - 1;
    lines.insert(lines.end(), whole.begin(), whole.end());
  }
  if (shown < count) lines.push_back(fmt::format("! and {} more, see log.txt", count - shown));
  return lines;
}

/// Returns the active warnings, then the newest log lines.
std::vector<FrameLine> news_lines(const ScreenState& state, int columns, int rows) {
  std::vector<FrameLine> lines = {rule("log", columns)};
  for (const std::string& line : warning_lines(state.warnings, columns, std::max(rows / 2, rows - kFewestLogLines)))
    lines.push_back({{line, Style::kWarning}});
  const auto is_shown_warning = [&](const ScreenState::Line& line) {
    return line.kind == LineKind::kWarning && std::ranges::any_of(state.warnings, [&](const std::string& warning) {
             return line.text.ends_with(warning);
           });
  };
  std::vector<const ScreenState::Line*> others;
  for (const ScreenState::Line& line : state.log)
    if (!is_shown_warning(line)) others.push_back(&line);
  const auto room = std::max<std::ptrdiff_t>(0, rows - std::ssize(lines));
  for (auto line = others.end() - std::min(room, std::ssize(others)); line != others.end(); ++line)
    lines.push_back({{(*line)->text, line_style((*line)->kind)}});
  return lines;
}

void append(std::vector<FrameLine>& lines, std::vector<FrameLine> added) {
  lines.insert(lines.end(), added.begin(), added.end());
}

/// Number of curves side by side, and their height; 0: no room.
struct CurveShape {
  size_t num_columns = 2;
  int height = 0;
};

CurveShape curve_shape(size_t count, int columns, int room) {
  if (count == 0) return {};
  const size_t num_columns = std::min<size_t>(count, columns >= 112 && room < 24 ? 4 : columns >= 60 ? 2 : 1);
  const int stacked = static_cast<int>((count + num_columns - 1) / num_columns);
  const int height = std::min(8, room / stacked - 1);
  return {num_columns, height >= 2 ? height : 0};
}

}  // namespace

std::vector<FrameLine> draw_frame(const ScreenState& state, int columns, int rows) {
  std::vector<FrameLine> lines = header_lines(state, columns, rows);
  const int rows_below = rows - static_cast<int>(lines.size());
  const bool has_sample = state.sample && rows_below >= 15;
  // Warnings get room before the curves: several at once must all be visible.
  const int with_warnings = std::min(static_cast<int>(state.warnings.size()) + kFewestLogLines, rows_below / 2 - 1);
  const int news = std::max({kFewestLogLines + 1, rows_below / 4, with_warnings}), sample = has_sample ? 4 : 0;
  const CurveShape shape = curve_shape(state.curves.size(), columns, rows_below - news - sample);
  if (shape.height > 0) append(lines, curve_lines(state, columns, shape.num_columns, shape.height));
  if (has_sample) append(lines, sample_block(*state.sample, columns));
  append(lines, news_lines(state, columns, rows - static_cast<int>(lines.size())));
  lines.resize(std::min(lines.size(), static_cast<size_t>(rows)));
  return lines;
}

std::string painted(const FrameLine& line, int columns, bool in_colour) {
  std::string text;
  int room = columns;
  for (const StyledText& piece : line) {
    const std::string cut = cut_to_width(on_one_line(piece.text), room);
    if (cut.empty()) continue;
    room -= display_width(cut);
    const bool is_styled = in_colour && piece.style != Style::kPlain;
    text += is_styled ? kCodes[static_cast<size_t>(piece.style)] + cut + "\033[0m" : cut;
  }
  return text;
}

}  // namespace roll
