// The log that people read. Each process has one Log, made by app/, which alone writes to the terminal, so that lines
// never tear the progress display. Rank 0 also writes its lines with UTC time to log.txt in the run folder (copy_to()).
//   info    rank 0 only; standard output; hidden by --quiet
//   say     like info, but also shown under --quiet
//   note    like info, but drops a text that an earlier note() had
//   warn    every rank; standard error; begins with the rank if there are several
//   status  rank 0 only, on a terminal: the one line at the bottom that is redrawn in place; not in log.txt
//   plain   progress where no line can be redrawn in place: writes a new line each time; also log.txt
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iosfwd>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "base/terminal.h"

namespace roll {

struct LogOptions {
  int rank = 0;  // this process's
  int num_ranks = 1;
  Terminal terminal;   // the terminal behind standard output
  bool quiet = false;  // --quiet: shows only warnings and say(); log.txt still gets all lines
};

/// The function that logged a line: kInfo: info() or note(); kSaid: say(); kWarning: warn().
enum class LineKind { kInfo, kSaid, kWarning };

/// A display that gets the lines in place of the two streams, such as a full-screen view. The log calls it from several
/// threads, but never at the same time.
class LogView {
 public:
  virtual ~LogView() = default;
  virtual void show(std::string_view line, LineKind kind) = 0;
  /// Shows the current activity; "" for none.
  virtual void show_status(std::string_view line) = 0;
};

/// Any thread may call all members at any time, except show_progress().
class Log {
 public:
  /// `out` is standard output and `err` standard error; both must outlive the log.
  Log(std::ostream& out, std::ostream& err, LogOptions options);
  ~Log();

  /// Appends to `file` all lines from now on, and those logged before, each with its UTC time. Does nothing on ranks
  /// other than 0. Throws SystemError if the file cannot be opened.
  void copy_to(const std::filesystem::path& file);

  /// Shows this rank's lines on `view` from now on, instead of the streams; nullptr: on the streams again. The view
  /// must live until the log is destroyed or show_on() is called again.
  void show_on(LogView* view);

  template <class... A>
  void info(fmt::format_string<A...> format, A&&... args) {
    write_info(fmt::format(format, std::forward<A>(args)...), LineKind::kInfo);
  }
  template <class... A>
  void say(fmt::format_string<A...> format, A&&... args) {
    write_info(fmt::format(format, std::forward<A>(args)...), LineKind::kSaid);
  }
  template <class... A>
  void warn(fmt::format_string<A...> format, A&&... args) {
    write_warning(fmt::format(format, std::forward<A>(args)...));
  }
  /// Logs a text as info() does, unless the same text was noted before.
  template <class... A>
  void note(fmt::format_string<A...> format, A&&... args) {
    write_note(fmt::format(format, std::forward<A>(args)...));
  }

  /// Replaces the status line, cut to the terminal's width; "" removes it. Does nothing if interactive() is false, or
  /// under --quiet.
  void status(std::string_view line);
  /// Writes a progress line where status() cannot: rank 0 writes it to log.txt, and to standard output if that is not a
  /// terminal. Another rank prints it, with its number, if show_progress() was called there; else it does nothing.
  void plain(std::string_view line);

  /// Makes plain() print on this rank too, for work in which rank 0 takes no part. Call it before other threads use the
  /// log.
  void show_progress() { shows_progress_ = true; }
  /// Returns true on rank 0, and after show_progress().
  bool shows_progress() const { return shows_progress_ || is_first(); }

  /// Returns true on rank 0 if standard output is a terminal, so that status() works.
  bool interactive() const { return options_.terminal.interactive && is_first(); }
  /// Returns the terminal's width.
  int columns() const { return options_.terminal.columns; }
  bool is_first() const { return options_.rank == 0; }

 private:
  void write_info(std::string_view text, LineKind kind);
  void write_warning(std::string_view text);
  void write_note(const std::string& text);
  void print(std::ostream& stream, std::string_view text, LineKind kind);
  void draw_status();
  void erase_status();

  std::mutex mutex_;
  std::ostream& out_;
  std::ostream& err_;
  LogOptions options_;
  LogView* view_ = nullptr;
  std::ofstream file_;
  std::string early_;  // lines logged before copy_to()
  std::string status_;
  bool shows_progress_ = false;
  std::set<std::string> noted_texts_;
};

}  // namespace roll
