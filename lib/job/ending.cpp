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

constexpr unsigned kSpeakersTime_s = 3;
constexpr double kLeavingTime_s = 5;   // for MPI_Abort, destructors and exit handlers
constexpr double kDaemonsGrace_s = 5;  // mpirun ends its daemons at once if it can reach them

/// Returns the world; if its variables are wrong, which may be the error itself, a world of one.
World world_or_alone() {
  try {
    return detect_world();
  } catch (const UserError&) {
    return {};
  }
}

bool is_quiet(const std::exception& error, const World& world) {
  if (dynamic_cast<const AnotherRankFailed*>(&error)) return true;
  return world.rank != 0 && dynamic_cast<const Stopped*>(&error);
}

/// Removes LibTorch's appended call stack, so that people see the message.
std::string first_part(const std::string& text) {
  return text.substr(0, text.find("\nException raised from"));
}

}  // namespace

std::string error_line(const std::exception& error) {
  const World world = world_or_alone();
  if (is_quiet(error, world)) return "";
  const std::string text = first_part(error.what());
  const bool named = world.rank == 0 || text.starts_with("rank ");
  const char* kind = exit_code_for(error) == 70 ? "internal error, please report it: " : "";
  return fmt::format("roll: {}{}{}", named ? "" : fmt::format("[rank {}] ", world.rank), kind, harmless(text));
}

void abort_all_ranks(const std::exception& error) {
  const bool waits = mpi_is_running() && is_quiet(error, world_or_alone());
  end_within(kLeavingTime_s + (waits ? kSpeakersTime_s : 0), "", exit_code_for(error));
  if (waits) ::sleep(kSpeakersTime_s);
  if (!mpi_is_running()) return;
  end_daemon_after(kDaemonsGrace_s);
  mpi_abort(exit_code_for(error));
}

}  // namespace roll
