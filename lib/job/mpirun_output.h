// What mpirun writes to standard error: the ranks' lines, and notices of its own between two lines of dashes. Notices
// that only repeat what a rank has said are left out; those that say who is to blame are understood.
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

/// What a rank says that has waited for the others, at its start or its end, where it cannot know who is missing. All
/// that wait say it; the supervisor shows it once, and knows the missing ones by who did not say it.
std::string waited_line(int rank, int num_ranks, const std::string& where_and_how_long);

/// Called by the first rank when all are there: a line for the supervisor, where there is one.
void report_start();

class MpirunOutput {
 public:
  /// Takes the next bytes; returns what is to be shown of them, whole lines only.
  std::string take(std::string_view bytes);
  /// The last line, where it has no end.
  std::string rest();

  /// Whether the ranks have begun to work: report_start() was heard.
  bool started() const { return started_; }
  /// Whether a rank has said why it fails, or has called MPI_Abort: from then on the job has to end.
  bool failed() const { return !first_error_.empty() || has_aborted_; }
  /// What the first rank to speak has said, "" where none has.
  const std::string& first_error() const { return first_error_; }
  const std::optional<KilledRank>& killed() const { return killed_; }
  /// Where ranks have waited in vain (waited_line()), those that did not say so: "1, 3".
  std::string missing() const;
  /// The host that mpirun has lost, "" where it has not.
  const std::string& lost_host() const { return lost_host_; }

 private:
  /// Takes report_start() off the end of the line so far, where it stands there.
  bool took_start();
  std::string shown(const std::string& line);
  std::string shown_in_notice(const std::string& line);
  void understand(const std::string& line);

  enum class Notice { kNone, kBegun, kShown, kLeftOut };
  Notice notice_ = Notice::kNone;
  std::string dashes_;  // the line that began the notice, until we know whether it is shown
  std::string text_;    // the notice so far
  std::string line_;    // not yet ended
  bool started_ = false;
  std::string first_error_;
  bool has_aborted_ = false;  // MPI_Abort was called
  std::optional<KilledRank> killed_;
  std::string lost_host_;
  std::set<int> waiting_;
  int num_ranks_ = 0;  // that those who wait speak of
};

}  // namespace roll
