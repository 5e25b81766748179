#include "sandbox/syscall_filter.h"

#include <linux/sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <termios.h>

#include <memory>
#include <sstream>

#include "base/descriptor.h"
#include "base/error.h"

namespace roll {

namespace {

/// Allowed system calls; names unknown on an architecture are skipped.
constexpr const char* kAllowed =
    // memory
    "brk mmap mmap2 munmap mremap mprotect madvise mincore msync mlock munlock membarrier pkey_alloc pkey_free "
    "pkey_mprotect "
    // files
    "access faccessat faccessat2 open openat openat2 creat close close_range read readv pread64 preadv preadv2 "
    "write writev pwrite64 pwritev pwritev2 lseek _llseek sendfile sendfile64 copy_file_range stat lstat fstat "
    "newfstatat fstatat64 stat64 lstat64 fstat64 statx statfs fstatfs statfs64 fstatfs64 readlink readlinkat "
    "getdents getdents64 getcwd chdir fchdir mkdir mkdirat rmdir unlink unlinkat rename renameat renameat2 link "
    "linkat symlink symlinkat chmod fchmod fchmodat umask truncate ftruncate truncate64 ftruncate64 fallocate "
    "fsync fdatasync sync_file_range flock fadvise64 fcntl fcntl64 utime utimes utimensat futimesat dup dup2 "
    "dup3 pipe pipe2 "
    // waiting
    "poll ppoll select _newselect pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait "
    "epoll_pwait2 eventfd eventfd2 signalfd signalfd4 timerfd_create timerfd_settime timerfd_gettime "
    "inotify_init inotify_init1 inotify_add_watch inotify_rm_watch pause "
    // sockets within the sandbox
    "socketpair bind listen accept accept4 connect shutdown sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg "
    "getsockname getpeername getsockopt setsockopt "
    // processes and threads
    "fork vfork execve exit exit_group wait4 waitid waitpid getpid getppid gettid getpgid getpgrp getsid "
    "setpgid setsid getuid geteuid getgid getegid getresuid getresgid getgroups getrlimit setrlimit ugetrlimit "
    "prlimit64 getrusage times sysinfo uname sched_yield sched_getaffinity sched_getparam sched_getscheduler "
    "sched_get_priority_max sched_get_priority_min getpriority getcpu set_tid_address set_robust_list "
    "get_robust_list futex futex_time64 futex_waitv rseq prctl arch_prctl set_thread_area get_thread_area "
    "pidfd_open capget "
    // signals
    "kill tkill tgkill rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigsuspend rt_sigtimedwait "
    "rt_sigqueueinfo sigaltstack sigreturn pidfd_send_signal restart_syscall "
    // time and random numbers
    "clock_gettime clock_getres clock_nanosleep clock_gettime64 clock_nanosleep_time64 gettimeofday time "
    "nanosleep alarm getitimer setitimer timer_create timer_settime timer_gettime timer_getoverrun timer_delete "
    "getrandom ";

constexpr uint64_t kNewNamespaces =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

void require_success(int result) {
  if (result != 0) throw system_error("the sandbox's system call filter: libseccomp returns error {}", result);
}

void allow(scmp_filter_ctx filter, const std::string& name) {
  const int number = seccomp_syscall_resolve_name(name.c_str());
  if (number >= 0) require_success(seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0));
}

void allow_with(scmp_filter_ctx filter, int number, scmp_arg_cmp condition) {
  require_success(seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, number, 1, &condition));
}

std::string export_bpf(scmp_filter_ctx filter) {
  const Descriptor file(memfd_create("filter", MFD_CLOEXEC));
  if (!file || seccomp_export_bpf(filter, file.get()) != 0)
    throw system_error("the sandbox's system call filter{}", errno_text());
  std::string code(static_cast<size_t>(lseek(file.get(), 0, SEEK_END)), '\0');
  if (pread(file.get(), code.data(), code.size(), 0) != std::ssize(code))
    throw system_error("the sandbox's system call filter{}", errno_text());
  return code;
}

}  // namespace

std::string syscall_filter() {
  const std::unique_ptr<void, void (*)(scmp_filter_ctx)> filter(seccomp_init(SCMP_ACT_ERRNO(ENOSYS)), seccomp_release);
  if (!filter) throw system_error("the sandbox's system call filter: libseccomp does not support this machine");
  require_success(seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS));
  require_success(seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2));
  std::istringstream names(kAllowed);
  for (std::string name; names >> name;) allow(filter.get(), name);
  // A filter cannot read the flags of clone3; on ENOSYS, the C library falls back to clone.
  allow_with(filter.get(), SCMP_SYS(clone), SCMP_A0(SCMP_CMP_MASKED_EQ, kNewNamespaces, 0));
  allow_with(filter.get(), SCMP_SYS(socket), SCMP_A0(SCMP_CMP_EQ, AF_UNIX));
  for (const uint64_t request : {TCGETS, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX, TIOCGWINSZ})
    allow_with(filter.get(), SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, request));
  return export_bpf(filter.get());
}

}  // namespace roll
