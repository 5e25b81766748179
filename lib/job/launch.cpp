#include "job/launch.h"

#include <sys/uio.h>
#include <sys/wait.h>
#include <torch/version.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <set>

#include "base/env.h"
#include "base/error.h"
#include "base/scratch_folder.h"
#include "base/terminal.h"
#include "job/mpirun_session.h"
#include "job/restart.h"
#include "job/supervisor.h"
#include "job/threads.h"
#include "job/world.h"
#include "process/own_program.h"
#include "process/stop.h"
#include "transport/nccl_communicator.h"
#include "transport/socket.h"
#include "transport/wire.h"

namespace roll {

namespace {

constexpr const char* kMpirun = "mpirun";
constexpr const char* kSupervisedVariable = "ROLL_STANDING_BY";

/// Returns true if a process may read another's memory. Many containers forbid it, and Open MPI then complains per
/// message.
bool can_read_other_processes() {
  int word = 1, copy = 0;
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const iovec local_memory{&copy, sizeof copy}, remote_memory{&word, sizeof word};
  const bool allowed = child > 0 && ::process_vm_readv(child, &local_memory, 1, &remote_memory, 1, 0) == sizeof copy;
  if (child > 0) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  return allowed;
}

/// Returns variables that ranks on other hosts need too; mpirun passes on only its own (OMPI_MCA_*).
std::vector<std::string> variables_to_pass() {
  static const std::vector<std::string> kPrefixes = {"OMP_", "GOMP_", "KMP_", "MKL_",  "ROLL_",
                                                     "HF_",  "NCCL_", "UCX_", "CUDA_", "TORCH_"};
  static const std::vector<std::string> kNames = {"LD_LIBRARY_PATH", "LD_PRELOAD", "HUGGINGFACE_HUB_CACHE"};
  std::vector<std::string> names;
  for (const std::string& name : env_names()) {
    const auto begins = [&](const std::string& prefix) { return name.starts_with(prefix); };
    const bool passes = std::any_of(kPrefixes.begin(), kPrefixes.end(), begins) ||
                        std::find(kNames.begin(), kNames.end(), name) != kNames.end();
    const bool is_default = fmt::format("{}={}", name, *env(name)) == kShortSpin;  // each rank sets it itself
    if (passes && !is_default && !name.starts_with("ROLL_TERMINAL") && name != "ROLL_LAUNCHED" &&
        name != kSupervisedVariable)
      names.push_back(name);
  }
  return names;
}

void append(std::vector<std::string>& words, std::initializer_list<std::string> new_words) {
  words.insert(words.end(), new_words);
}

/// Returns true if the user chose Open MPI's messaging layer ("pml").
bool chooses_messaging(const Launch& launch) {
  return env("OMPI_MCA_pml") || std::ranges::find(launch.mpirun_args, "pml") != launch.mpirun_args.end();
}

/// Options for one host: its ranks share the cores evenly, and messages go through shared memory, since a search for
/// networks takes 0.2 s per start. On several hosts, set_threads_per_rank() divides each host.
void add_one_host(std::vector<std::string>& command, const Launch& launch) {
  command.emplace_back("--oversubscribe");
  if (!chooses_messaging(launch)) append(command, {"--mca", "pml", "ob1"});
  if (!env("OMP_NUM_THREADS"))
    append(command, {"-x", fmt::format("OMP_NUM_THREADS={}", std::max(1, num_usable_cores() / launch.num_ranks))});
}

void add_many_hosts(std::vector<std::string>& command, const std::string& hostfile) {
  append(command, {"--hostfile", hostfile, "--map-by", "slot"});
  for (const std::string& name : variables_to_pass()) append(command, {"-x", name});
}

std::vector<std::string> mpirun_command(const Launch& launch, const std::string& program) {
  std::vector<std::string> command = {kMpirun, "-n", std::to_string(launch.num_ranks), "--bind-to", "none"};
  if (::geteuid() == 0) command.emplace_back("--allow-run-as-root");
  if (launch.hostfile.empty())
    add_one_host(command, launch);
  else
    add_many_hosts(command, launch.hostfile);
  const Terminal terminal = describe_terminal(STDOUT_FILENO);
  append(command, {"-x", fmt::format("ROLL_TERMINAL={}", terminal.interactive ? terminal.columns : 0)});
  append(command, {"-x", fmt::format("ROLL_TERMINAL_ROWS={}", terminal.rows)});
  append(command, {"-x", "ROLL_LAUNCHED=1"});
  append(command, {"--mca", "ess_base_forward_signals",
                   fmt::format("SIG{},SIG{}", sigabbrev_np(stand_in_signal(StopKind::kInterrupt)),
                               sigabbrev_np(stand_in_signal(StopKind::kHangup)))});
  if (!can_read_other_processes()) append(command, {"--mca", "btl_vader_single_copy_mechanism", "none"});
  command.insert(command.end(), launch.mpirun_args.begin(), launch.mpirun_args.end());
  command.push_back(program);
  return command;
}

bool is_alone(const Launch& launch) {
  return launch.num_ranks == 1 && launch.hostfile.empty();
}

/// Starts the job and supervises it to its end. If the supervisor dies, the only rank dies at once (SIGKILL); mpirun
/// gets time to end its ranks on other hosts (SIGTERM).
JobEnd run_once(const Launch& launch) {
  std::vector<std::string> command = launch_command(launch);
  const std::string mark = fmt::format("{}=1", kSupervisedVariable);
  command.insert(command.begin() + (is_alone(launch) ? 0 : 1), {is_alone(launch) ? "env" : "-x", mark});
  if (is_alone(launch)) return supervise(command, launch.start_limit_s, SIGKILL);
  const ScratchFolder folder("roll-mpirun-");
  const bool is_placed = launch.hostfile.empty() && place_session(command, folder.path());  // other hosts lack it
  JobEnd end = supervise(command, launch.start_limit_s, SIGTERM);
  if (WIFSIGNALED(end.status))
    remove_session(is_placed ? session_folders(folder.path()) : session_folders(), end.process);
  return end;
}

/// Returns true if another attempt may succeed: not after a stop request, nor if the user has to change something.
bool is_fault(int exit_code) {
  static const std::set<int> kNoFault = {0,
                                         2,
                                         exit_code_for(StopKind::kInterrupt),
                                         exit_code_for(StopKind::kTerminate),
                                         exit_code_for(StopKind::kHangup),
                                         exit_code_for(StopKind::kPreempt)};
  return !kNoFault.contains(exit_code);
}

const char* enum_name(Launcher launcher) {
  return launcher == Launcher::kMpi ? "mpirun or srun" : "WORLD_SIZE";
}

SystemError killed_error(const KilledRank& killed) {
  const char* hint =
      killed.signal == SIGKILL ? "; by a person, or by the kernel because memory ran out: see dmesg on that host" : "";
  return system_error("rank {} on host {} was killed by signal {} ({}){}", killed.rank, killed.host, killed.signal,
                      strsignal(killed.signal), hint);
}

/// Returns the stop request whose signal killed a rank: one that did not catch signals yet, or got two. A signal to one
/// rank counts as one to all, as it does later.
std::optional<StopKind> find_fatal_stop(const JobEnd& end) {
  if (end.output.failed()) return std::nullopt;
  if (end.output.killed()) return find_stop_kind(end.output.killed()->signal);
  return find_stop_kind(WIFSIGNALED(end.status) ? WTERMSIG(end.status) : WEXITSTATUS(end.status) - 128);
}

/// Returns the job's exit code. SystemError or Stopped: no rank could report what happened.
int job_exit_code(const JobEnd& end, const Launch& launch) {
  const int code = WIFEXITED(end.status) ? WEXITSTATUS(end.status) : 1;
  if (end.stopped_twice)
    throw Stopped(*end.stop_request, ", and ended at once by the second signal; the last checkpoint is kept");
  if (const auto kind = find_fatal_stop(end)) throw Stopped(end.stop_request.value_or(*kind));
  if (end.started_late)
    throw system_error(
        "{}: the ranks did not all start in time (the limit is backend_timeout); can this host log in to all others, "
        "and can they connect to it?",
        kMpirun);
  if (const std::string missing = end.output.missing(); !missing.empty())
    throw system_error("nothing came from rank {}: is it stopped, or does its host hang?", missing);
  if (end.was_killed)
    throw system_error("{} did not end after the failure (is a host unreachable?), so it was killed",
                       is_alone(launch) ? "the rank" : kMpirun);
  if (WIFSIGNALED(end.status) && is_alone(launch))
    throw killed_error({.rank = 0, .host = host_name(), .signal = WTERMSIG(end.status)});
  if (WIFSIGNALED(end.status))
    throw system_error("{} was killed by signal {} ({})", kMpirun, WTERMSIG(end.status),
                       strsignal(WTERMSIG(end.status)));
  if (end.output.killed()) throw killed_error(*end.output.killed());
  if (!end.output.lost_host().empty())
    throw system_error("the connection to host {} is lost; check its network, and the host itself",
                       end.output.lost_host());
  if (end.output.failed()) return std::max(code, 1);
  if (code == 127)
    throw system_error("{}: not found or not executable; install Open MPI (Debian: openmpi-bin), or use -n 1", kMpirun);
  // Ranks that fail by themselves report why; one killed by a signal cannot.
  if (code > 128 && code < 128 + NSIG)
    throw system_error("a rank was killed by signal {} ({})", code - 128, strsignal(code - 128));
  return code;
}

}  // namespace

std::vector<std::string> launch_command(const Launch& launch) {
  const std::string program = launch.program.empty() ? own_program().string() : launch.program;
  std::vector<std::string> command = is_alone(launch) ? std::vector{program} : mpirun_command(launch, program);
  command.insert(command.end(), launch.args.begin(), launch.args.end());
  return command;
}

std::optional<int> run_ranks(const Launch& launch) {
  const World world = detect_world();
  if (world.launcher != Launcher::kNone && launch.num_ranks != world.size)
    throw user_error("-n = {0}: {1} processes were started ({2} = {1}); drop -n, or make both equal", launch.num_ranks,
                     world.size, enum_name(world.launcher));
  const bool runs_in_this_process = is_alone(launch) && (launch.max_restarts == 0 || has_supervisor());
  if (world.launcher != Launcher::kNone || runs_in_this_process) return std::nullopt;
  for (int restart = 0;; ++restart) {
    const JobEnd end = run_once(launch);
    const bool may_restart =
        restart < launch.max_restarts && !end.stop_request && (restart > 0 || end.output.started());
    std::string reason;
    try {
      const int code = job_exit_code(end, launch);
      if (!may_restart || !is_fault(code)) return code;
      const std::string& first_error = end.output.first_error();
      reason = first_error.empty() ? fmt::format("the ranks ended with exit code {}", code) : first_error;
    } catch (const SystemError& error) {
      if (!may_restart) throw;
      reason = error.what();
    }
    std::fprintf(stderr, "roll: restart %d of %d: %s\n", restart + 1, launch.max_restarts, reason.c_str());
    export_restart(
        {.number = restart + 1, .max_restarts = launch.max_restarts, .reason = reason, .failed_s = end.failed_s});
  }
}

bool has_supervisor() {
  return env(kSupervisedVariable).has_value();
}

std::vector<std::string> version_lines() {
  return {std::string("LibTorch ") + TORCH_VERSION, "CUDA " + cuda_version(), "NCCL " + nccl_version(),
          "MPI " + mpi_version()};
}

}  // namespace roll
