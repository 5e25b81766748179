#include "dist/launch.h"

#include <fcntl.h>
#include <sys/prctl.h>
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
#include "dist/nccl_communicator.h"
#include "dist/wire.h"

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

/// The environment that all ranks get, in this process, which does nothing else from now on.
void set_rank_environment(int num_ranks) {
  const Terminal terminal = terminal_of(STDOUT_FILENO);
  set_env("ROLL_TERMINAL", std::to_string(terminal.interactive ? terminal.columns : 0));
  if (!env("OMP_NUM_THREADS")) set_env("OMP_NUM_THREADS", std::to_string(std::max(1, num_usable_cores() / num_ranks)));
}

sigset_t signals_to_watch() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&set, number);
  return set;
}

/// In the child: its own process group, so that Ctrl-C reaches it only through us, and death with its parent.
/// Returns only on failure, with errno. Only async-signal-safe calls.
void become(char* const* command, const sigset_t& old_mask) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::sigprocmask(SIG_SETMASK, &old_mask, nullptr);
  if (::isatty(STDIN_FILENO)) {
    const int nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, STDIN_FILENO);
  }
  ::execvp(command[0], command);
}

pid_t spawn(const std::vector<std::string>& command, const sigset_t& old_mask) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const pid_t child = ::fork();
  if (child < 0) throw system_error("fork{}", errno_text());
  if (child > 0) return child;
  become(words.data(), old_mask);
  ::_exit(127);
}

/// Passes the first wish to stop on as a signal that mpirun hands to the ranks (see base/stop.h), the second as one
/// that makes mpirun kill them. Returns wait()'s status; `first_signal` is 0 or the first wish.
int stand_by(pid_t child, const sigset_t& watched, int& first_signal) {
  while (true) {
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) == child) return status;
    const int number = ::sigwaitinfo(&watched, nullptr);
    if (number < 0 || number == SIGCHLD) continue;
    ::kill(child, first_signal ? SIGTERM : number == SIGINT ? SIGUSR1 : SIGUSR2);
    if (!first_signal) first_signal = number == SIGINT ? SIGINT : SIGTERM;
  }
}

int exit_code_of_job(int status, int first_signal, const std::string& mpirun) {
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (first_signal) return code == 0 ? 0 : 128 + first_signal;
  if (code == 127)
    throw system_error("{}: not found or not executable; install Open MPI (Debian: openmpi-bin), or use -n 1", mpirun);
  // Ranks that fail by themselves say why; one that a signal killed cannot.
  if (code > 128) throw system_error("a rank was killed by signal {} ({})", code - 128, strsignal(code - 128));
  return code;
}

const char* name_of(Launcher launcher) {
  return launcher == Launcher::kMpi ? "mpirun or srun" : "WORLD_SIZE";
}

}  // namespace

std::vector<std::string> mpirun_command(int num_ranks, const std::string& program,
                                        const std::vector<std::string>& args) {
  std::vector<std::string> command = {"mpirun",    "-n",  std::to_string(num_ranks), "--quiet", "--oversubscribe",
                                      "--bind-to", "none"};
  if (::geteuid() == 0) command.emplace_back("--allow-run-as-root");
  if (!can_read_other_processes()) command.insert(command.end(), {"--mca", "btl_vader_single_copy_mechanism", "none"});
  command.push_back(program);
  command.insert(command.end(), args.begin(), args.end());
  return command;
}

std::optional<int> run_ranks(int num_ranks, const std::vector<std::string>& args) {
  const World world = detect_world();
  if (world.launcher != Launcher::kNone && num_ranks != world.size)
    throw user_error("-n = {}: {} started {} processes; drop -n, or give both the same number", num_ranks,
                     name_of(world.launcher), world.size);
  if (world.launcher != Launcher::kNone || num_ranks == 1) return std::nullopt;
  set_rank_environment(num_ranks);
  const std::vector<std::string> command = mpirun_command(num_ranks, own_program(), args);
  const sigset_t watched = signals_to_watch();
  sigset_t old_mask;
  ::sigprocmask(SIG_BLOCK, &watched, &old_mask);
  int first_signal = 0;
  const int status = stand_by(spawn(command, old_mask), watched, first_signal);
  ::sigprocmask(SIG_SETMASK, &old_mask, nullptr);
  return exit_code_of_job(status, first_signal, command[0]);
}

std::vector<std::string> version_lines() {
  return {std::string("LibTorch ") + TORCH_VERSION, "CUDA " + cuda_version(), "NCCL " + nccl_version(),
          "MPI " + mpi_version()};
}

}  // namespace roll
