#include "machine/mpi_trial.h"

#include <cstdio>
#include <sstream>

#include "base/clock.h"
#include "base/error.h"
#include "base/scratch_folder.h"
#include "job/join.h"
#include "job/launch.h"
#include "job/mpirun_session.h"
#include "job/world.h"
#include "process/child_process.h"

namespace roll {

namespace {

constexpr double kTimeout_s = 20;
constexpr double kEndTimeout_s = 5;
constexpr const char* kSum = "the ranks' sum is ";

/// Returns the first line with words: mpirun puts lines of dashes around its messages.
std::string first_text_line(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.find_first_not_of("- \t\r") != line.npos) return line;
  return "";
}

std::optional<std::string> find_problem(std::vector<std::string> command) {
  const ScratchFolder folder("roll-mpirun-");
  place_session(command, folder.path());
  ChildProcess mpirun(command);
  std::string reply;
  const ChildProcess::Outcome outcome = mpirun.ask("", kTimeout_s, reply);
  if (outcome == ChildProcess::Outcome::kTimeout)
    return fmt::format("two ranks did not connect within {} s", kTimeout_s);
  const std::string end = mpirun.end(kEndTimeout_s);
  if (outcome == ChildProcess::Outcome::kDone && reply == kSum + std::string("3") && mpirun.exit_code() == 0)
    return std::nullopt;
  const std::string error_line = first_text_line(mpirun.stderr_tail());
  return error_line.empty() ? end : fmt::format("{}: {}", end, error_line);
}

}  // namespace

MpiTrial try_two_ranks(const std::vector<std::string>& arguments) {
  if (detect_world().launcher != Launcher::kNone)
    return {.problem = "not tried, because a launcher started this process"};
  const Stopwatch watch;
  MpiTrial trial;
  try {
    trial.problem = find_problem(launch_command({.num_ranks = 2, .args = arguments}));
  } catch (const UserError& error) {  // no mpirun
    trial.problem = error.what();
  } catch (const SystemError& error) {
    trial.problem = error.what();
  }
  trial.seconds = watch.seconds();
  return trial;
}

void run_trial_rank() {
  const auto ranks = make_communicator({.kind = Transport::kMpi, .timeout_s = kTimeout_s});
  const int64_t sum = ranks->all_reduce_sum(int64_t{ranks->rank() + 1}, "trial");
  if (ranks->is_first()) std::printf("%s%d\n", kSum, static_cast<int>(sum));
}

}  // namespace roll
