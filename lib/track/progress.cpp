#include "track/progress.h"

namespace roll {

namespace {

constexpr double kRedrawPeriod_s = 0.2;
constexpr double kPlainPeriod_s = 10;

std::string short_rate(double rate) {
  if (rate >= 1e6) return fmt::format("{:.1f}M", rate / 1e6);
  if (rate >= 1e4) return fmt::format("{:.1f}k", rate / 1e3);
  return rate >= 100 ? fmt::format("{:.0f}", rate) : fmt::format("{:.2g}", rate);
}

}  // namespace

Progress::Progress(Log& log, std::string phase, int64_t total, std::string unit)
    : log_(log), phase_(std::move(phase)), unit_(std::move(unit)), total_(total) {
  if (!log_.shows_progress()) return;
  log_.status(line());
  drawer_ = std::jthread([this](const std::stop_token& stop) { draw_until_stopped(stop); });
}

Progress::~Progress() {
  drawer_ = {};
  log_.status("");
}

void Progress::detail(std::string text) {
  const std::lock_guard lock(mutex_);
  detail_ = std::move(text);
}

void Progress::draw_until_stopped(const std::stop_token& stop) {
  const auto period = std::chrono::duration<double>(log_.interactive() ? kRedrawPeriod_s : kPlainPeriod_s);
  std::mutex wait_mutex;
  std::unique_lock lock(wait_mutex);
  Stopwatch since_plain;
  while (true) {
    woken_.wait_for(lock, stop, period, [] { return false; });
    if (stop.stop_requested()) return;
    log_.status(line());
    if (since_plain.seconds() < 0.99 * kPlainPeriod_s) continue;
    log_.plain(line());
    since_plain.restart();
  }
}

std::string Progress::line() {
  const double seconds = watch_.seconds();
  const int64_t done = done_, total = total_;
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  std::string text = total > 0 ? fmt::format("{} {}/{} {} ({}%)", phase_, done, total, unit_, 100 * done / total)
                               : fmt::format("{} {} {}", phase_, done, unit_);
  if (rate > 0) text += fmt::format(", {} {}/s", short_rate(rate), unit_);
  text += fmt::format(", {}", duration_text(seconds));
  const double reported = share_, counted = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0;
  const double share = reported > 0 ? reported : counted;
  if (share > 0 && done < total) text += fmt::format(", {} left", duration_text(seconds * (1 - share) / share));
  const std::lock_guard lock(mutex_);
  return detail_.empty() ? text : text + ", " + detail_;
}

}  // namespace roll
