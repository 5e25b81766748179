#include "job/ending.h"

#include <unistd.h>

#include "base/error.h"
#include "base/harmless.h"
#include "job/deadline.h"
#include "job/world.h"
#include "process/stop.h"
#include "transport/wire.h"

namespace roll {

namespace {

constexpr unsigned kReporterTime_s = 3;
constexpr double kExitTime_s = 5;     // for MPI_Abort, destructors and exit handlers
constexpr double kDaemonGrace_s = 5;  // mpirun ends its daemons at once if it can reach them

/// Returns the world; if its variables are wrong, which may be the error itself, a world of one.
World world_or_alone() {
  try {
    return detect_world();
  } catch (const UserError&) {
    return {};
  }
}

bool another_rank_reports(const std::exception& error, const World& world) {
  if (dynamic_cast<const AnotherRankFailed*>(&error)) return true;
  return world.rank != 0 && dynamic_cast<const Stopped*>(&error);
}

/// Removes LibTorch's appended call stack, so that people see the message.
std::string without_call_stack(const std::string& text) {
  return text.substr(0, text.find("\nException raised from"));
}

}  // namespace

std::string error_line(const std::exception& error) {
  const World world = world_or_alone();
  if (another_rank_reports(error, world)) return "";
  const std::string text = without_call_stack(error.what());
  const bool names_rank = world.rank == 0 || text.starts_with("rank ");
  const char* kind = exit_code_for(error) == 70 ? "internal error, please report it: " : "";
  return fmt::format("roll: {}{}{}", names_rank ? "" : fmt::format("[rank {}] ", world.rank), kind, harmless(text));
}

void abort_all_ranks(const std::exception& error) {
  const bool waits = mpi_is_running() && another_rank_reports(error, world_or_alone());
  end_within(kExitTime_s + (waits ? kReporterTime_s : 0), "", exit_code_for(error));
  if (waits) ::sleep(kReporterTime_s);
  if (!mpi_is_running()) return;
  end_daemon_after(kDaemonGrace_s);
  mpi_abort(exit_code_for(error));
}

}  // namespace roll
