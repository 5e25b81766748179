// Parses mpirun's standard error: the ranks' lines, and mpirun's own notices between two lines of dashes. Drops notices
// that only repeat a rank's message, and extracts the culprit from others.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace roll {

/// "mpirun noticed that process rank 3 with PID 812 on node h2 exited on signal 9 (Killed)."
struct KilledRank {
  int rank = 0;
  std::string host;
  int signal = 0;
};

/// Returns the line of a rank that waited in vain for others, at its start or end, without knowing who is missing. All
/// waiting ranks write it. The supervisor shows it once, and takes the other ranks for the missing ones.
std::string waited_line(int rank, int num_ranks, const std::string& where_and_how_long);

/// Tells the supervisor, if any, that all ranks are there. Called by the first rank.
void report_start();

class MpirunOutput {
 public:
  /// Takes the next bytes; returns the whole lines to show.
  std::string take(std::string_view bytes);
  /// Returns the last line if it is incomplete.
  std::string rest();

  /// Returns true once report_start()'s line was seen.
  bool started() const { return started_; }
  /// Returns true once a rank reported an error or called MPI_Abort, so that the job has to end.
  bool failed() const { return !first_error_.empty() || has_aborted_; }
  /// Returns the first rank's error message; "" if none.
  const std::string& first_error() const { return first_error_; }
  const std::optional<KilledRank>& killed() const { return killed_; }
  /// Returns the ranks for which others waited in vain (see waited_line()): "1, 3".
  std::string missing() const;
  /// Returns the host that mpirun has lost; "" if none.
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
