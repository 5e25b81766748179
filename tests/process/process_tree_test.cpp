#include "process/process_tree.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include "base/descriptor.h"

namespace roll {

namespace {

bool becomes(const std::function<bool()>& is_so) {
  for (int i = 0; i < 2000; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(5)))
    if (is_so()) return true;
  return false;
}

/// A shell, started by a thread that lives as long, with another process below it. They end with this.
class Shell {
 public:
  Shell()
      : starter_([this] {
          std::string shell = "sh", flag = "-c", script = "sleep 60 >/dev/null 2>&1 & echo $! >&3; wait";
          char* const words[] = {shell.data(), flag.data(), script.data(), nullptr};
          const Pipe said = make_pipe("pipe of a test");
          posix_spawn_file_actions_t actions;
          ::posix_spawn_file_actions_init(&actions);
          ::posix_spawn_file_actions_adddup2(&actions, said.write_end.get(), 3);
          ::posix_spawnp(&pid, "sh", &actions, nullptr, words, environ);
          ::posix_spawn_file_actions_destroy(&actions);
          char text[16] = {};
          [[maybe_unused]] const ssize_t count = ::read(said.read_end.get(), text, sizeof text - 1);
          below = std::atoi(text);
          while (!is_over_) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }) {}
  ~Shell() {
    is_over_ = true;
    starter_.join();
    ::kill(below, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;

  pid_t pid = -1;
  std::atomic<pid_t> below = 0;

 private:
  std::atomic<bool> is_over_ = false;
  std::thread starter_;  // last: it uses the others
};

bool is_below(pid_t root, pid_t wanted) {
  const std::vector<pid_t> below = processes_below(root);
  return std::ranges::find(below, wanted) != below.end();
}

}  // namespace

TEST_CASE("what runs below a process is found, whichever of its threads started it, and the dead are not", "[base]") {
  const Shell shell;
  REQUIRE(becomes([&] { return shell.below > 0; }));
  CHECK(is_below(::getpid(), shell.pid));
  CHECK(is_below(::getpid(), shell.below));
  CHECK(is_below(shell.pid, shell.below));
  CHECK_FALSE(is_below(shell.pid, shell.pid));
  ::kill(shell.below, SIGKILL);  // the shell ends with it
  CHECK(becomes([&] { return !is_below(::getpid(), shell.pid) && !is_below(::getpid(), shell.below); }));
}

}  // namespace roll
