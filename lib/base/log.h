// The lines that people read: one owner of the terminal, so that a line never tears the progress display, and a plain
// copy of everything in log.txt, behind the time (base/utc.h). Passed by reference (no global): app/ makes one per
// process.
//   info  rank 0 only, standard output          warn  every rank, standard error, with the rank where there are several
//   note  as info, but each text once per run   status  the line being redrawn, only on a terminal
//   say   as info, but said under --quiet too
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
  Terminal terminal;   // of the standard output
  bool quiet = false;  // only what is said and warned of is shown; log.txt gets all
};

enum class LineKind { kInfo, kSaid, kWarning };

/// What shows the lines in place of the two streams, and what is being done now. Called from several threads, one at a
/// time.
class LogView {
 public:
  virtual ~LogView() = default;
  virtual void show(std::string_view line, LineKind kind) = 0;
  /// "" where nothing is being done.
  virtual void show_status(std::string_view line) = 0;
};

class Log {
 public:
  /// `out` and `err` must outlive the log. All members may be called from several threads.
  Log(std::ostream& out, std::ostream& err, LogOptions options);
  ~Log();

  /// Every line also goes to the end of `file`, those before too (rank 0 only, without redrawing codes). SystemError.
  void copy_to(const std::filesystem::path& file);

  /// From here on `view` shows the lines of this rank; nullptr: the streams do. It must outlive the log, or be taken
  /// away.
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
  /// Said once: the same text is not repeated.
  template <class... A>
  void note(fmt::format_string<A...> format, A&&... args) {
    write_note(fmt::format(format, std::forward<A>(args)...));
  }

  /// Redraws the status line (terminals only; cut to the width). "" removes it.
  void status(std::string_view line);
  /// A line for places that are not redrawn: standard output when it is no terminal, and always log.txt. Ranks other
  /// than the first say it with their number, once they show progress.
  void plain(std::string_view line);

  /// From here on this rank's progress is shown too: it works on what rank 0 has no part in.
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
  std::string early_;  // what was said before there was a file
  std::string status_;
  bool shows_progress_ = false;
  std::set<std::string> said_;
};

}  // namespace roll
