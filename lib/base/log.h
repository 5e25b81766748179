// The log that people read: one owner of the terminal, so that lines never tear the progress display. log.txt gets a
// plain copy of all lines, each with its UTC time. app/ makes one Log per process and passes it by reference.
//   info  rank 0 only, standard output          warn  every rank, standard error, names the rank if several
//   note  like info, but each text once a run   status  the line being redrawn, only on a terminal
//   say   like info, but also under --quiet
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
  int rank = 0;
  int num_ranks = 1;
  Terminal terminal;   // standard output
  bool quiet = false;  // prints only warnings and say(); log.txt gets all lines
};

enum class LineKind { kInfo, kSaid, kWarning };

/// A display that replaces the two streams, such as a full-screen view. Called from several threads, one at a time.
class LogView {
 public:
  virtual ~LogView() = default;
  virtual void show(std::string_view line, LineKind kind) = 0;
  /// Shows the current activity; "" for none.
  virtual void show_status(std::string_view line) = 0;
};

class Log {
 public:
  /// `out` and `err` must outlive the log. All members may be called from several threads.
  Log(std::ostream& out, std::ostream& err, LogOptions options);
  ~Log();

  /// Appends all lines to `file`, earlier ones too (rank 0 only, without redrawing codes). SystemError: it cannot be
  /// opened.
  void copy_to(const std::filesystem::path& file);

  /// Shows this rank's lines on `view` from now on; nullptr: on the streams. The view must outlive the log, or be
  /// removed.
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
  /// Logs a text once; repetitions are dropped.
  template <class... A>
  void note(fmt::format_string<A...> format, A&&... args) {
    write_note(fmt::format(format, std::forward<A>(args)...));
  }

  /// Redraws the status line (terminals only; cut to the width). "" removes it.
  void status(std::string_view line);
  /// Logs a line where nothing is redrawn: standard output if it is no terminal, and always log.txt. Other ranks print
  /// it with their number after show_progress().
  void plain(std::string_view line);

  /// Shows this rank's progress too, from now on: it does work that rank 0 has no part in.
  void show_progress() { shows_progress_ = true; }
  bool shows_progress() const { return shows_progress_ || is_first(); }

  bool interactive() const { return options_.terminal.interactive && is_first(); }
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
