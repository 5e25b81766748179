#include "sandbox/box_process.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/error.h"
#include "base/file.h"

namespace roll {

namespace {

constexpr unsigned kInsideUser = 1000, kNobody = 65534;
constexpr rlim_t kStackBytes = 64 << 20;  // deep recursion is what programs under test do
constexpr unsigned kNamespaces =
    CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;

// mount_setattr(2), which C libraries older than 2.36 do not declare.
struct MountFlags {
  uint64_t set = 0, clear = 0, propagation = 0, user_namespace = 0;
};
constexpr uint64_t kMountReadOnly = 1, kMountNoSuid = 2, kMountNoDev = 4, kMountNoExec = 8;
constexpr unsigned kMountRecursive = 0x8000;  // AT_RECURSIVE

/// One step of making the box's file system; `from` is below the old root.
struct Step {
  enum class Kind { kFolder, kFile, kLink, kBind, kBindDevice } kind;
  std::string from, to;
};

/// What goes wrong in the child.
struct Failure {
  int error = 0;
  char what[120] = {};
};

void add_folder(std::vector<Step>& steps, std::set<std::string>& made, const std::filesystem::path& folder) {
  if (folder == "/" || !made.insert(folder).second) return;
  add_folder(steps, made, folder.parent_path());
  steps.push_back({Step::Kind::kFolder, "", folder});
}

/// Everything that allocates is done before the fork.
std::vector<Step> file_system(const Interpreter& interpreter) {
  std::vector<Step> steps;
  std::set<std::string> made;
  std::vector<std::string> shown{"/usr/bin",     "/usr/lib",     "/usr/lib32",          "/usr/lib64",
                                 "/usr/libexec", "/usr/include", "/usr/share/zoneinfo", "/etc/alternatives"};
  for (const std::string top : {"/bin", "/lib", "/lib32", "/lib64"}) {
    if (std::filesystem::is_symlink(top))
      steps.push_back({Step::Kind::kLink, std::filesystem::read_symlink(top), top});
    else
      shown.push_back(top);
  }
  shown.insert(shown.end(), interpreter.folders.begin(), interpreter.folders.end());
  std::vector<std::string> bound;
  for (const std::string& folder : shown) {
    const bool is_shown =
        std::ranges::any_of(bound, [&](const auto& other) { return folder.starts_with(other + "/"); });
    if (!is_folder(folder) || is_shown) continue;
    bound.push_back(folder);
    add_folder(steps, made, folder);
    steps.push_back({Step::Kind::kBind, "/old" + folder, folder});
  }
  for (const std::string folder : {"/dev", "/etc", "/tmp", "/proc"}) add_folder(steps, made, folder);
  for (const std::string device : {"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"})
    steps.push_back({Step::Kind::kBindDevice, "/old" + device, device});
  if (is_there("/etc/ld.so.cache")) {
    steps.push_back({Step::Kind::kFile, "", "/etc/ld.so.cache"});
    steps.push_back({Step::Kind::kBind, "/old/etc/ld.so.cache", "/etc/ld.so.cache"});
  }
  return steps;
}

/// The child, from clone to exec: async-signal-safe calls only, nothing allocates.
class Child {
 public:
  std::vector<Step> steps;
  std::vector<char*> arguments, environment;
  int control = -1, go = -1, report = -1;
  bool is_isolated = true, is_root = false;

  [[noreturn]] void run() const {
    if (is_isolated) {
      char byte = 0;
      if (read(go, &byte, 1) != 1) _exit(1);
      change_root();
      make_file_system();
      become_unprivileged();
    }
    const rlimit stack = {kStackBytes, kStackBytes};
    setrlimit(RLIMIT_STACK, &stack);
    must(setsid() < 0 ? -1 : 0, "setsid");
    take_descriptors();
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    for (const int number : {SIGINT, SIGTERM, SIGPIPE, SIGCHLD}) signal(number, SIG_DFL);
    execve(arguments[0], arguments.data(), environment.data());
    must(-1, arguments[0]);
    _exit(1);
  }

 private:
  void must(int result, const char* what, const char* which = "") const {
    if (result == 0) return;
    Failure failure;
    failure.error = errno;
    strncpy(failure.what, what, 40);
    strncat(failure.what, which, 70);
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

  void restrict_mount(const std::string& at, uint64_t flags, unsigned how) const {
    MountFlags wanted = {.set = flags};
    must(static_cast<int>(syscall(SYS_mount_setattr, AT_FDCWD, at.c_str(), how, &wanted, sizeof wanted)),
         "making read-only ", at.c_str());
  }

  void make_file_system() const {
    umask(0);
    for (const Step& step : steps) {
      const char *from = step.from.c_str(), *to = step.to.c_str();
      if (step.kind == Step::Kind::kFolder) must(mkdir(to, 0755), "mkdir ", to);
      if (step.kind == Step::Kind::kLink) must(symlink(from, to), "symlink ", to);
      if (step.kind == Step::Kind::kFile || step.kind == Step::Kind::kBindDevice)
        must(close(open(to, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644)), "creating ", to);
      if (step.kind == Step::Kind::kBind || step.kind == Step::Kind::kBindDevice) {
        must(mount(from, to, nullptr, MS_BIND | MS_REC, nullptr), "binding ", to);
        const uint64_t device = step.kind == Step::Kind::kBindDevice ? kMountNoExec : kMountNoDev;
        restrict_mount(step.to, kMountReadOnly | kMountNoSuid | device, kMountRecursive);
      }
    }
    // For the keepers' eyes; where it is not allowed, the memory of a tree of processes is only bounded one by one.
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr);
    must(umount2("/old", MNT_DETACH), "leaving the old root");
    must(rmdir("/old"), "rmdir old");
    restrict_mount("/", kMountReadOnly | kMountNoSuid | kMountNoDev, 0);
  }

  void become_unprivileged() const {
    if (is_root) must(setgroups(0, nullptr), "setgroups");
    must(prctl(PR_SET_KEEPCAPS, 1), "keepcaps");
    must(setresgid(kInsideUser, kInsideUser, kInsideUser), "setresgid");
    must(setresuid(kInsideUser, kInsideUser, kInsideUser), "setresuid");
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, 2> sets{};
    sets[0] = {.effective = 1U << CAP_SYS_ADMIN, .permitted = 1U << CAP_SYS_ADMIN, .inheritable = 1U << CAP_SYS_ADMIN};
    must(static_cast<int>(syscall(SYS_capset, &header, sets.data())), "capset");
    must(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0), "raising a capability");
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
  }

  /// 0 to 2: nothing; 3: control; 4: report, until exec.
  void take_descriptors() const {
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    must(nothing < 0 ? -1 : 0, "opening /dev/null");
    const int high_control = fcntl(control, F_DUPFD_CLOEXEC, 10), high_report = fcntl(report, F_DUPFD_CLOEXEC, 10);
    for (int fd = 0; fd < 3; ++fd) must(dup2(nothing, fd) == fd ? 0 : -1, "dup2");
    must(dup2(high_control, 3) == 3 ? 0 : -1, "dup2");
    must(dup3(high_report, 4, O_CLOEXEC) == 4 ? 0 : -1, "dup3");
    must(static_cast<int>(syscall(SYS_close_range, 5U, ~0U, 0U)), "close_range");
  }
};

void write_map(pid_t pid, const char* name, const std::string& text) {
  const std::string file = fmt::format("/proc/{}/{}", pid, name);
  const Descriptor map(open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!map || write(map.get(), text.data(), text.size()) != std::ssize(text))
    throw system_error("writing {} of a user namespace{}", name, errno_text());
}

/// Root of a container may be alone in it.
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

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

/// Not fork(): its handlers may wait for locks that other threads hold.
pid_t fork_into(unsigned namespaces) {
  return static_cast<pid_t>(syscall(SYS_clone, namespaces | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

void await_start(pid_t pid, const Descriptor& report) {
  Failure failure;
  const ssize_t count = read(report.get(), &failure, sizeof failure);
  if (count == 0) return;  // closed by exec
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  failure.what[sizeof failure.what - 1] = 0;
  throw system_error("{}: {}", failure.what, std::strerror(failure.error));
}

}  // namespace

BoxProcess start_box_process(const Interpreter& interpreter, const std::vector<std::string>& arguments,
                             bool is_isolated) {
  constexpr std::string_view kPipe = "a pipe to a sandbox";
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw system_error("{}{}", kPipe, errno_text());
  Descriptor control(ends[0]), childs_control(ends[1]);
  Pipe report = make_pipe(kPipe), go = make_pipe(kPipe);
  std::vector<std::string> words{interpreter.program}, variables{"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "HOME=/tmp"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  Child child;
  if (is_isolated) child.steps = file_system(interpreter);
  child.arguments = pointers(words);
  child.environment = pointers(variables);
  child.control = childs_control.get();
  child.report = report.write_end.get();
  child.go = go.read_end.get();
  child.is_isolated = is_isolated;
  child.is_root = can_become_nobody();
  const pid_t pid = fork_into(is_isolated ? kNamespaces : 0);
  if (pid < 0) throw system_error("making namespaces{}", errno_text());
  if (pid == 0) child.run();
  report.write_end.close();
  try {
    if (is_isolated) map_users(pid, child.is_root);
    if (write(go.write_end.get(), "g", 1) != 1 && is_isolated) throw system_error("starting a sandbox{}", errno_text());
  } catch (...) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    throw;
  }
  await_start(pid, report.read_end);
  return {pid, std::move(control)};
}

}  // namespace roll
