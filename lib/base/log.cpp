#include "base/log.h"

#include <ostream>
#include <utility>

#include "base/console.h"
#include "base/file.h"
#include "base/harmless.h"
#include "base/utc.h"

namespace roll {

namespace {

constexpr std::string_view kEraseLine = "\r\033[2K";

/// Formats a line for log.txt.
std::string stamped(std::string_view text) {
  return fmt::format("{} {}\n", utc_text(), text);
}

}  // namespace

Log::Log(std::ostream& out, std::ostream& err, LogOptions options) : out_(out), err_(err), options_(options) {}

Log::~Log() {
  status("");
}

void Log::copy_to(const std::filesystem::path& file) {
  if (!is_first()) return;
  const std::lock_guard lock(mutex_);
  file_ = open_to_append(file);
  file_ << std::exchange(early_, "") << std::flush;
}

void Log::show_on(LogView* view) {
  status("");
  const std::lock_guard lock(mutex_);
  view_ = view;
}

void Log::status(std::string_view line) {
  if (!interactive() || options_.quiet) return;
  const std::lock_guard lock(mutex_);
  if (view_) return view_->show_status(on_one_line(line));
  erase_status();
  // One column stays free: a full line would wrap on many terminals and could not be erased.
  status_ = cut_to_width(on_one_line(line), columns() - 1);
  draw_status();
}

void Log::plain(std::string_view text) {
  if (!shows_progress()) return;
  const std::string line = harmless(text);
  const std::lock_guard lock(mutex_);
  if (!is_first()) out_ << fmt::format("[rank {}] {}\n", options_.rank, line) << std::flush;
  if (is_first() && !options_.terminal.interactive && !options_.quiet) out_ << line << std::endl;
  if (file_.is_open()) file_ << stamped(line) << std::flush;
}

void Log::write_info(std::string_view text, LineKind kind) {
  if (!is_first()) return;
  const std::lock_guard lock(mutex_);
  print(out_, text, kind);
}

void Log::write_warning(std::string_view text) {
  const std::lock_guard lock(mutex_);
  print(err_,
        options_.num_ranks > 1 ? fmt::format("[rank {}] warning: {}", options_.rank, text)
                               : fmt::format("warning: {}", text),
        LineKind::kWarning);
}

void Log::write_note(const std::string& text) {
  if (!is_first()) return;
  const std::lock_guard lock(mutex_);
  if (noted_texts_.insert(text).second) print(out_, text, LineKind::kInfo);
}

void Log::print(std::ostream& stream, std::string_view untrusted_text, LineKind kind) {
  const std::string text = harmless(untrusted_text);
  if (file_.is_open())
    file_ << stamped(text) << std::flush;
  else if (is_first())
    early_ += stamped(text);
  if (view_) return view_->show(text, kind);
  if (options_.quiet && kind == LineKind::kInfo) return;
  erase_status();
  stream << text << std::endl;
  draw_status();
}

void Log::draw_status() {
  if (!status_.empty()) out_ << status_ << std::flush;
}

void Log::erase_status() {
  if (status_.empty()) return;
  write_codes(out_, kEraseLine);
  out_ << std::flush;
}

}  // namespace roll
