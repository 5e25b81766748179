#include "sandbox/box_entry.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/descriptor.h"
#include "base/error.h"
#include "process/child_process.h"

namespace roll {

namespace {

constexpr unsigned kNobody = 65534;
constexpr unsigned kNamespaces =
    CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;

// Arguments of mount_setattr(2), which C libraries before 2.36 do not declare.
struct MountFlags {
  uint64_t set = 0, clear = 0, propagation = 0, user_namespace = 0;
};
constexpr uint64_t kMountReadOnly = 1, kMountNoSuid = 2, kMountNoDev = 4, kMountNoExec = 8;
constexpr unsigned kMountRecursive = 0x8000;  // AT_RECURSIVE

/// An error in the child, which sends it to the parent.
struct Failure {
  int error = 0;
  char operation[120] = {};
};

/// Code of the child between clone and exec: async-signal-safe calls only, no allocation.
class Child {
 public:
  const BoxEntry& entry;
  std::vector<char*> words, variables;
  std::map<int, rlimit> limits;
  int go_ahead, report;
  bool is_root;

  [[noreturn]] void run() {
    if (entry.is_isolated) {
      char byte = 0;
      if (read(go_ahead, &byte, 1) != 1) _exit(1);
      change_root();
      make_file_system();
      become_unprivileged();
    }
    must(setsid() < 0 ? -1 : 0, "setsid");
    take_descriptors();
    for (const auto& [limit, value] : limits)
      must(setrlimit(static_cast<__rlimit_resource>(limit), &value), "setrlimit");
    if (!entry.folder.empty()) must(chdir(entry.folder.c_str()), "chdir ", entry.folder.c_str());
    if (entry.dies_with_us) must(prctl(PR_SET_PDEATHSIG, SIGKILL), "pdeathsig");
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    for (const int number : {SIGINT, SIGTERM, SIGPIPE, SIGCHLD}) signal(number, SIG_DFL);
    if (!entry.filter.empty()) filter_calls();
    execve(words[0], words.data(), variables.data());
    must(-1, words[0]);
    _exit(1);
  }

 private:
  void must(int result, const char* operation, const char* object = "") const {
    if (result == 0) return;
    Failure failure;
    failure.error = errno;
    strncpy(failure.operation, operation, 40);
    strncat(failure.operation, object, 70);
    [[maybe_unused]] const ssize_t written = write(report, &failure, sizeof failure);
    _exit(1);
  }

  void change_root() const {
    must(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "making mounts private");
    must(mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=0755"), "mounting a tmpfs");
    must(chdir("/tmp"), "chdir");
    must(mkdir("old", 0700), "mkdir old");
    must(static_cast<int>(syscall(SYS_pivot_root, ".", "old")), "pivot_root");
    must(chdir("/"), "chdir");
  }

  void restrict_mount(const std::string& at, uint64_t flags, unsigned at_flags) const {
    MountFlags wanted = {.set = flags};
    must(static_cast<int>(syscall(SYS_mount_setattr, AT_FDCWD, at.c_str(), at_flags, &wanted, sizeof wanted)),
         "making read-only ", at.c_str());
  }

  void make_file_system() const {
    umask(0);
    for (const BoxStep& step : entry.files.steps()) make_step(step);
    must(umount2("/old", MNT_DETACH), "leaving the old root");
    must(rmdir("/old"), "rmdir old");
    restrict_mount("/", kMountReadOnly | kMountNoSuid | kMountNoDev, 0);
    umask(022);
  }

  void make_step(const BoxStep& step) const {
    using enum BoxStep::Kind;
    const char *from = step.from.c_str(), *to = step.to.c_str();
    if (step.kind == kFolder) must(mkdir(to, 0755), "mkdir ", to);
    if (step.kind == kClosedFolder) must(mkdir(to, 0111), "mkdir ", to);
    if (step.kind == kLink) must(symlink(from, to), "symlink ", to);
    if (step.kind == kFile || step.kind == kBindDevice)
      must(close(open(to, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644)), "creating ", to);
    if (step.kind == kBind || step.kind == kBindDevice) {
      must(mount(from, to, nullptr, MS_BIND | MS_REC, nullptr), "binding ", to);
      const uint64_t device = step.kind == kBindDevice ? kMountNoExec : kMountNoDev;
      restrict_mount(step.to, kMountReadOnly | kMountNoSuid | device, kMountRecursive);
    }
    if (step.kind == kMemory) must(mount("tmpfs", to, "tmpfs", MS_NOSUID | MS_NODEV, from), "mounting ", to);
    if (step.kind == kProc) mount("proc", to, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr);
  }

  void become_unprivileged() const {
    // System calls, not the C library's functions: these wait for threads that exist in our parent only.
    if (is_root) must(static_cast<int>(syscall(SYS_setgroups, 0, nullptr)), "setgroups");
    must(prctl(PR_SET_KEEPCAPS, 1), "keepcaps");
    must(static_cast<int>(syscall(SYS_setresgid, kInsideUser, kInsideUser, kInsideUser)), "setresgid");
    must(static_cast<int>(syscall(SYS_setresuid, kInsideUser, kInsideUser, kInsideUser)), "setresuid");
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, 2> sets{};
    sets[0] = {entry.capabilities, entry.capabilities, entry.capabilities};
    must(static_cast<int>(syscall(SYS_capset, &header, sets.data())), "capset");
    for (unsigned i = 0; i < 32; ++i)
      if (entry.capabilities >> i & 1)
        must(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0, 0), "raising a capability");
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
  }

  /// Installs the descriptors as 0 to 3, keeps `report` as 4 until exec, and closes all others.
  void take_descriptors() {
    constexpr int kCount = std::tuple_size_v<decltype(entry.descriptors)>;
    std::array<int, kCount> high{};
    for (int i = 0; i < kCount; ++i) {
      const int given = entry.descriptors[i];
      high[i] = given < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC) : given;
      high[i] = fcntl(high[i], F_DUPFD_CLOEXEC, 10);
      must(high[i] < 0 ? -1 : 0, "opening descriptors");
    }
    const int high_report = fcntl(report, F_DUPFD_CLOEXEC, 10);
    for (int i = 0; i < kCount; ++i) must(dup2(high[i], i) == i ? 0 : -1, "dup2");
    must(dup3(high_report, kCount, O_CLOEXEC) == kCount ? 0 : -1, "dup3");
    report = kCount;
    must(static_cast<int>(syscall(SYS_close_range, kCount + 1U, ~0U, 0U)), "close_range");
  }

  void filter_calls() const {
    const sock_fprog program = {static_cast<unsigned short>(entry.filter.size() / sizeof(sock_filter)),
                                reinterpret_cast<sock_filter*>(const_cast<char*>(entry.filter.data()))};
    must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0), "seccomp");
  }
};

void write_map(pid_t pid, const char* name, const std::string& text) {
  const std::string file = fmt::format("/proc/{}/{}", pid, name);
  const Descriptor map(open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!map || write(map.get(), text.data(), text.size()) != std::ssize(text))
    throw system_error("writing {} of a user namespace{}", name, errno_text());
}

/// Returns whether we are root and can map user nobody; a container's root may lack other user ids.
bool can_become_nobody() {
  std::ifstream map("/proc/self/uid_map");
  for (uint64_t inside = 0, outside = 0, count = 0; map >> inside >> outside >> count;)
    if (geteuid() == 0 && inside <= kNobody && kNobody - inside < count) return true;
  return false;
}

void map_users(pid_t pid, bool is_root) {
  if (!is_root) write_map(pid, "setgroups", "deny");
  const auto map = [&](unsigned id) {
    return is_root ? fmt::format("0 0 1\n{} {} 1\n", kInsideUser, kNobody) : fmt::format("{} {} 1\n", kInsideUser, id);
  };
  write_map(pid, "uid_map", map(geteuid()));
  write_map(pid, "gid_map", map(getegid()));
}

/// Returns the limits, lowered to this process's hard limits.
std::map<int, rlimit> lowered_limits(const std::map<int, rlim_t>& limits) {
  std::map<int, rlimit> result;
  for (const auto& [limit, value] : limits) {
    rlimit current{};
    getrlimit(static_cast<__rlimit_resource>(limit), &current);
    const rlim_t lowered = std::min(value, current.rlim_max);  // RLIM_INFINITY is the largest value
    result[limit] = {lowered, lowered};
  }
  return result;
}

/// Forks into new namespaces. Not by fork(), whose handlers may wait for locks of other threads.
pid_t fork_into(unsigned namespaces) {
  return static_cast<pid_t>(syscall(SYS_clone, namespaces | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

void await_exec(const Descriptor& report) {
  Failure failure;
  const ssize_t count = read(report.get(), &failure, sizeof failure);
  if (count == 0) return;  // closed by exec
  failure.operation[sizeof failure.operation - 1] = 0;
  throw system_error("{}: {}", failure.operation, std::strerror(failure.error));
}

}  // namespace

pid_t start_in_box(const BoxEntry& entry) {
  constexpr std::string_view kPipe = "cannot make a pipe to the sandbox";
  Pipe report = make_pipe(kPipe), go_ahead = make_pipe(kPipe);
  std::vector<std::string> words = entry.words, variables = entry.variables;
  Child child{.entry = entry,
              .words = pointers_to(words),
              .variables = pointers_to(variables),
              .limits = lowered_limits(entry.limits),
              .go_ahead = go_ahead.read_end.get(),
              .report = report.write_end.get(),
              .is_root = can_become_nobody()};
  const pid_t pid = fork_into(entry.is_isolated ? kNamespaces : 0);
  if (pid < 0) throw system_error("making namespaces{}", errno_text());
  if (pid == 0) child.run();
  report.write_end.close();
  try {
    if (entry.is_isolated) map_users(pid, child.is_root);
    if (write(go_ahead.write_end.get(), "g", 1) != 1 && entry.is_isolated)
      throw system_error("starting a sandbox{}", errno_text());
    await_exec(report.read_end);
  } catch (...) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    throw;
  }
  return pid;
}

std::string cannot_isolate(std::string_view why) {
  return fmt::format(
      "this machine cannot isolate programs: {}; allow user namespaces (kernel.unprivileged_userns_clone, the "
      "container's seccomp profile)",
      why);
}

}  // namespace roll
