// Parses mpirun's standard error for the supervisor (supervisor.h): lines of the ranks, and mpirun's own notices, each
// between two lines of dashes. Drops notices that only repeat a rank's message, and learns from others which rank or
// host failed.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace roll {

/// A rank that a signal killed, from mpirun's notice "mpirun noticed that process rank 3 with PID 812 on node h2 exited
/// on signal 9 (Killed)."
struct KilledRank {
  int rank = 0;
  std::string host;
  int signal = 0;
};

/// Returns "roll: rank 3 of 8, start: waited 30 min and not all other ranks came ...". A rank writes this line to
/// standard error if it has waited in vain for other ranks, at its start or end, and cannot know which ones are
/// missing. Every waiting rank writes it; the supervisor shows only the first, and concludes that all other ranks are
/// missing.
std::string waited_line(int rank, int num_ranks, const std::string& where_and_how_long);

/// Tells the supervisor, if there is one, that all ranks have met, by a line on standard error. Rank 0 calls it once.
void report_start();

/// Filter for one run of mpirun, with the facts found so far. Not thread-safe.
class MpirunOutput {
 public:
  /// Takes the next bytes of mpirun's standard error, which may end within a line. Returns the lines that are complete
  /// now and are to be shown.
  std::string take(std::string_view bytes);
  /// Returns the last line, if the output ended without a newline; call it once, at the end.
  std::string rest();

  /// Returns true once report_start()'s line was seen.
  bool started() const { return started_; }
  /// Returns true once a rank reported an error or called MPI_Abort, so that the job has to end.
  bool failed() const { return !first_error_.empty() || has_aborted_; }
  /// Returns the error message that came first from any rank, without "roll: "; "" if none came.
  const std::string& first_error() const { return first_error_; }
  /// Returns the first killed rank that mpirun reported; nullopt if it reported none.
  const std::optional<KilledRank>& killed() const { return killed_; }
  /// Returns the ranks for which others waited in vain, as text: "1, 3"; "" if no rank wrote a waited_line().
  std::string missing() const;
  /// Returns the host to which mpirun lost the connection; "" if none.
  const std::string& lost_host() const { return lost_host_; }

 private:
  /// Removes report_start()'s text from the end of the line so far; returns true if it was there.
  bool remove_start_text();
  std::string filter_line(const std::string& line);
  std::string filter_notice_line(const std::string& line);
  void parse_line(const std::string& line);

  enum class Notice { kNone, kBegun, kShown, kLeftOut };
  Notice notice_ = Notice::kNone;
  std::string dashes_;  // the notice's first line, until we know whether to show it
  std::string text_;    // the notice so far
  std::string line_;    // incomplete line
  bool started_ = false;
  std::string first_error_;
  bool has_aborted_ = false;  // MPI_Abort was called
  std::optional<KilledRank> killed_;
  std::string lost_host_;
  std::set<int> waiting_;
  int num_ranks_ = 0;  // number of ranks named by waiting ones
};

}  // namespace roll
