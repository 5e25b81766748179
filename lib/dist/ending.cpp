#include "dist/ending.h"

#include <unistd.h>

#include "base/error.h"
#include "base/stop.h"
#include "dist/deadline.h"
#include "dist/launch.h"
#include "dist/wire.h"

namespace roll {

namespace {

constexpr unsigned kSpeakersTime_s = 3;
constexpr double kLeavingTime_s = 5;   // for MPI_Abort, destructors, and whatever else runs on the way out
constexpr double kDaemonsGrace_s = 5;  // mpirun ends its daemons at once, where it can reach them

/// The environment may be the very thing that is wrong; then this process speaks for itself.
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

/// LibTorch appends where in LibTorch it was; people want what went wrong.
std::string first_part(const std::string& text) {
  return text.substr(0, text.find("\nException raised from"));
}

}  // namespace

AnotherRankFailed::AnotherRankFailed(int failed_rank, int code)
    : std::runtime_error(fmt::format("rank {} failed and has said why", failed_rank)), exit_code(code) {}

std::string error_line(const std::exception& error) {
  const World world = world_or_alone();
  if (is_quiet(error, world)) return "";
  const std::string text = first_part(error.what());
  const bool named = world.rank == 0 || text.starts_with("rank ");
  const char* kind = exit_code_of(error) == 70 ? "internal error, please report it: " : "";
  return fmt::format("roll: {}{}{}", named ? "" : fmt::format("[rank {}] ", world.rank), kind, text);
}

int exit_code_of(const std::exception& error) {
  if (const auto* other = dynamic_cast<const AnotherRankFailed*>(&error)) return other->exit_code;
  if (const auto* stopped = dynamic_cast<const Stopped*>(&error)) return stopped->exit_code();
  if (dynamic_cast<const UserError*>(&error)) return 2;
  return dynamic_cast<const Bug*>(&error) ? 70 : 1;
}

void abort_all_ranks(const std::exception& error) {
  const bool waits = mpi_is_running() && is_quiet(error, world_or_alone());
  end_within(kLeavingTime_s + (waits ? kSpeakersTime_s : 0), "", exit_code_of(error));
  if (waits) ::sleep(kSpeakersTime_s);
  if (!mpi_is_running()) return;
  end_daemon_after(kDaemonsGrace_s);
  mpi_abort(exit_code_of(error));
}

}  // namespace roll
