#include "job/launch.h"

#include <sys/uio.h>
#include <sys/wait.h>
#include <torch/version.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "base/env.h"
#include "base/error.h"
#include "base/terminal.h"
#include "job/stand_by.h"
#include "job/threads.h"
#include "job/world.h"
#include "transport/nccl_communicator.h"
#include "transport/wire.h"

namespace roll {

namespace {

/// Whether one process may read another's memory: many containers forbid it, and Open MPI then complains per message.
bool can_read_other_processes() {
  int word = 1, copy = 0;
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const iovec here{&copy, sizeof copy}, there{&word, sizeof word};
  const bool allowed = child > 0 && ::process_vm_readv(child, &here, 1, &there, 1, 0) == sizeof copy;
  if (child > 0) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  return allowed;
}

std::string own_program() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

/// Variables of this process that ranks on other hosts need too; mpirun passes on only its own (OMPI_MCA_*).
std::vector<std::string> variables_to_pass() {
  static const std::vector<std::string> kPrefixes = {"OMP_", "GOMP_", "KMP_", "MKL_",  "ROLL_",
                                                     "HF_",  "NCCL_", "UCX_", "CUDA_", "TORCH_"};
  static const std::vector<std::string> kNames = {"LD_LIBRARY_PATH", "LD_PRELOAD", "HUGGINGFACE_HUB_CACHE"};
  std::vector<std::string> names;
  for (const std::string& name : env_names()) {
    const auto begins = [&](const std::string& prefix) { return name.starts_with(prefix); };
    const bool passes = std::any_of(kPrefixes.begin(), kPrefixes.end(), begins) ||
                        std::find(kNames.begin(), kNames.end(), name) != kNames.end();
    const bool is_default = fmt::format("{}={}", name, *env(name)) == kShortSpin;  // each rank sees to it itself
    if (passes && !is_default && name != "ROLL_TERMINAL" && name != "ROLL_LAUNCHED" && name != "ROLL_STANDING_BY")
      names.push_back(name);
  }
  return names;
}

void append(std::vector<std::string>& words, std::initializer_list<std::string> more) {
  words.insert(words.end(), more);
}

/// On one host the ranks share the cores evenly; elsewhere each host is divided by its own ranks
/// (set_threads_per_rank).
void add_one_host(std::vector<std::string>& command, int num_ranks) {
  command.emplace_back("--oversubscribe");
  if (!env("OMP_NUM_THREADS"))
    append(command, {"-x", fmt::format("OMP_NUM_THREADS={}", std::max(1, num_usable_cores() / num_ranks))});
}

void add_many_hosts(std::vector<std::string>& command, const std::string& hostfile) {
  append(command, {"--hostfile", hostfile, "--map-by", "slot"});
  for (const std::string& name : variables_to_pass()) append(command, {"-x", name});
}

std::vector<std::string> mpirun_command(const Launch& launch, const std::string& program) {
  std::vector<std::string> command = {"mpirun", "-n", std::to_string(launch.num_ranks), "--bind-to", "none"};
  if (::geteuid() == 0) command.emplace_back("--allow-run-as-root");
  if (launch.hostfile.empty())
    add_one_host(command, launch.num_ranks);
  else
    add_many_hosts(command, launch.hostfile);
  const Terminal terminal = terminal_of(STDOUT_FILENO);
  append(command, {"-x", fmt::format("ROLL_TERMINAL={}", terminal.interactive ? terminal.columns : 0)});
  append(command, {"-x", "ROLL_LAUNCHED=1"});
  if (!can_read_other_processes()) append(command, {"--mca", "btl_vader_single_copy_mechanism", "none"});
  command.insert(command.end(), launch.mpirun_args.begin(), launch.mpirun_args.end());
  command.push_back(program);
  return command;
}

const char* name_of(Launcher launcher) {
  return launcher == Launcher::kMpi ? "mpirun or srun" : "WORLD_SIZE";
}

SystemError killed_error(const KilledRank& killed) {
  const char* hint = killed.signal == SIGKILL ? "; by hand, or by the kernel for want of memory: see dmesg there" : "";
  return system_error("rank {} on host {} was killed by signal {} ({}){}", killed.rank, killed.host, killed.signal,
                      strsignal(killed.signal), hint);
}

/// The job's exit code; SystemError where no rank could say what happened.
int exit_code_of_job(const JobEnd& end, const std::string& mpirun) {
  const int code = WIFEXITED(end.status) ? WEXITSTATUS(end.status) : 1;
  if (end.first_signal) return code == 0 ? 0 : 128 + end.first_signal;
  if (end.late)
    throw system_error(
        "{}: the ranks did not all start in time (the limit is backend_timeout); can this host log in at "
        "all others, and those connect to it?",
        mpirun);
  if (end.forced)
    throw system_error("{} did not end after that failure (is a host out of reach?), so it was ended", mpirun);
  if (WIFSIGNALED(end.status))
    throw system_error("{} was killed by signal {} ({})", mpirun, WTERMSIG(end.status),
                       strsignal(WTERMSIG(end.status)));
  if (end.output.killed()) throw killed_error(*end.output.killed());
  if (!end.output.lost_host().empty())
    throw system_error("the connection to host {} is lost: its network, or the host itself", end.output.lost_host());
  if (end.output.failed()) return std::max(code, 1);
  if (code == 127)
    throw system_error("{}: not found or not executable; install Open MPI (Debian: openmpi-bin), or use -n 1", mpirun);
  // Ranks that fail by themselves say why; one that a signal killed cannot.
  if (code > 128 && code < 128 + NSIG)
    throw system_error("a rank was killed by signal {} ({})", code - 128, strsignal(code - 128));
  return code;
}

}  // namespace

std::vector<std::string> launch_command(const Launch& launch) {
  const std::string program = launch.program.empty() ? own_program() : launch.program;
  std::vector<std::string> command =
      launch.num_ranks == 1 && launch.hostfile.empty() ? std::vector{program} : mpirun_command(launch, program);
  command.insert(command.end(), launch.args.begin(), launch.args.end());
  return command;
}

std::optional<int> run_ranks(const Launch& launch) {
  const World world = detect_world();
  if (world.launcher != Launcher::kNone && launch.num_ranks != world.size)
    throw user_error("-n = {}: {} started {} processes; drop -n, or give both the same number", launch.num_ranks,
                     name_of(world.launcher), world.size);
  const bool alone = launch.num_ranks == 1 && launch.hostfile.empty();
  if (world.launcher != Launcher::kNone || alone) return std::nullopt;
  std::vector<std::string> command = launch_command(launch);
  command.insert(command.begin() + 1, {"-x", "ROLL_STANDING_BY=1"});
  return exit_code_of_job(stand_by(command, launch.start_limit_s), command[0]);
}

std::vector<std::string> version_lines() {
  return {std::string("LibTorch ") + TORCH_VERSION, "CUDA " + cuda_version(), "NCCL " + nccl_version(),
          "MPI " + mpi_version()};
}

}  // namespace roll
