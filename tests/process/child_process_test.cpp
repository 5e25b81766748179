#include "process/child_process.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/temporary_folder.h"

namespace roll {

namespace fs = std::filesystem;

using Outcome = ChildProcess::Outcome;

namespace {

const std::vector<std::string> kEcho{"grep", "--line-buffered", ""};

std::vector<std::string> shell(const std::string& script) {
  return {"sh", "-c", script};
}

/// Whether the process with this number, read from a file once it is there, runs no more.
bool is_gone(const fs::path& file) {
  std::string pid;
  for (int i = 0; i < 500 && pid.empty(); ++i) {
    std::ifstream(file) >> pid;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  REQUIRE(!pid.empty());
  std::ifstream stat("/proc/" + pid + "/stat");
  std::string line;
  return !std::getline(stat, line) || line.find(") Z ") != std::string::npos;
}

}  // namespace

TEST_CASE("a child answers line by line", "[base]") {
  ChildProcess child(kEcho);
  std::string reply;
  for (const std::string line : {"one", "", "three words here"}) {
    REQUIRE(child.ask(line, 5, reply) == Outcome::kDone);
    CHECK(reply == line);
  }
}

TEST_CASE("a child takes and gives more than a pipe holds", "[base]") {
  const std::string big(ChildProcess::kLongestLine, 'x');
  ChildProcess child(kEcho);
  std::string reply;
  REQUIRE(child.ask(big, 20, reply) == Outcome::kDone);
  CHECK(reply == big);
  CHECK(child.ask(big + "x", 20, reply) == Outcome::kTooLong);
}

TEST_CASE("output without a newline does not grow without bound", "[base]") {
  ChildProcess child(shell("read x; exec cat /dev/zero"));
  std::string reply;
  CHECK(child.ask("go", 60, reply) == Outcome::kTooLong);
}

TEST_CASE("what a child says before it has read the question is no answer", "[base]") {
  std::string reply;
  ChildProcess banner(shell("echo hello; while read x; do echo $x; done"));
  CHECK(banner.ask("one", 5, reply) == Outcome::kUnasked);
  CHECK(reply == "hello");
  ChildProcess chatty(shell("while read x; do echo $x; sleep 0.1; echo more; done"));
  CHECK(chatty.ask("one", 5, reply) == Outcome::kDone);
  CHECK(chatty.ask("two", 5, reply) == Outcome::kUnasked);
  CHECK(reply == "more");
  ChildProcess twice(shell("while read x; do printf 'a\\nb'; done"));
  CHECK(twice.ask("one", 5, reply) == Outcome::kUnasked);
  CHECK(reply == "b");
}

TEST_CASE("a child that reads values, not lines, answers too", "[base]") {
  ChildProcess child({"python3", "-uc", "import sys\nwhile sys.stdin.read(2): print('yes')"});
  std::string reply;
  CHECK(child.ask("{}", 20, reply) == Outcome::kDone);
  CHECK(reply == "yes");
}

TEST_CASE("killing a slow child kills what it started, in whatever session", "[base]") {
  const test::TemporaryFolder folder;
  const fs::path plain = folder.path() / "plain", session = folder.path() / "session",
                 orphan = folder.path() / "orphan";
  ChildProcess child(
      shell(fmt::format("sh -c 'echo $$ > {}; exec sleep 100' & setsid sh -c 'echo $$ > {}; exec sleep 100' & "
                        "(env -i setsid sh -c 'echo $$ > {}; exec sleep 100' &) ; read x; sleep 100",
                        plain.string(), session.string(), orphan.string())));
  std::string reply;
  for (const fs::path& file : {plain, session, orphan}) CHECK_FALSE(is_gone(file));
  CHECK(child.ask("more", 0.2, reply) == Outcome::kTimeout);
  child.kill();
  CHECK(child.exit_code() == -SIGKILL);
  for (const fs::path& file : {plain, session, orphan}) CHECK(is_gone(file));
}

TEST_CASE("a child that ends by itself leaves nothing behind either", "[base]") {
  const test::TemporaryFolder folder;
  const fs::path file = folder.path() / "pid";
  ChildProcess child(shell(fmt::format(
      "setsid sh -c 'echo $$ > {0}; exec sleep 100' & read x; while ! [ -s {0} ]; do :; done", file.string())));
  std::string reply;
  CHECK(child.ask("go", 20, reply) == Outcome::kEnded);
  CHECK(child.end(5) == "exit status 0");
  CHECK(is_gone(file));
}

TEST_CASE("a child that ends tells its status and its last words", "[base]") {
  ChildProcess child(shell("read x; echo oh no >&2; exit 7"));
  std::string reply;
  CHECK(child.ask("x", 5, reply) == Outcome::kEnded);
  CHECK(child.end(5) == "exit status 7");
  CHECK(child.stderr_tail() == "oh no\n");
  CHECK(child.ask("x", 5, reply) == Outcome::kEnded);
}

TEST_CASE("much standard error neither blocks the child nor fills our memory", "[base]") {
  ChildProcess child(shell("yes complaint | head -c 2000000 >&2; read x; echo done"));
  std::string reply;
  REQUIRE(child.ask("go", 20, reply) == Outcome::kDone);
  CHECK(reply == "done");
  CHECK(child.stderr_tail().size() == 4096);
}

TEST_CASE("standard error without end keeps nobody from the time limit", "[base]") {
  ChildProcess child(shell("exec cat /dev/zero >&2"));
  std::string reply;
  CHECK(child.ask("x", 0.3, reply) == Outcome::kTimeout);
}

TEST_CASE("a signal is no exit status, and 255 is no signal", "[base]") {
  std::string reply;
  for (const auto& [script, end] : {std::pair{"kill -9 $$", "signal 9 (Killed)"}, {"exit 255", "exit status 255"}}) {
    ChildProcess child(shell(script));
    CHECK(child.ask("x", 20, reply) == Outcome::kEnded);
    CHECK(child.end(20) == end);
  }
}

TEST_CASE("a program that is not there is the user's error", "[base]") {
  CHECK_THROWS_AS(ChildProcess({"no-such-program-here"}), UserError);
  CHECK_THROWS_WITH(ChildProcess({"/etc/passwd"}), "/etc/passwd: cannot be started (Permission denied)");
  CHECK_THROWS_WITH(ChildProcess({"/tmp"}), "/tmp: cannot be started (Permission denied)");
  CHECK_THROWS_AS(ChildProcess(std::vector<std::string>{}), UserError);
}

TEST_CASE("a destroyed child leaves no process", "[base]") {
  const test::TemporaryFolder folder;
  const fs::path file = folder.path() / "pid", parent = folder.path() / "parent";
  {
    const ChildProcess child(
        shell(fmt::format("echo $PPID > {}; echo $$ > {}; sleep 100", parent.string(), file.string())));
    CHECK_FALSE(is_gone(file));
    CHECK_FALSE(is_gone(parent));
  }
  CHECK(is_gone(file));
  CHECK_FALSE(fs::exists(fmt::format("/proc/{}", std::stoi(read_file(parent)))));  // nor one that nobody waited for
}

TEST_CASE("a process that is killed takes its programs with it, though they ignore signals and read nothing",
          "[base]") {
  const test::TemporaryFolder folder;
  const auto stay = [&](const char* name) {
    return fmt::format("sh -c 'trap \"\" TERM HUP INT; echo $$ > {}; sleep 100; sleep 100'", (folder / name).string());
  };
  const pid_t owner = fork();
  if (owner == 0) {
    const ChildProcess child(
        shell(fmt::format("(setsid {} &) ; setsid {} & {}", stay("orphan"), stay("session"), stay("program"))));
    pause();
  }
  for (const char* name : {"orphan", "session", "program"}) CHECK_FALSE(is_gone(folder / name));
  ::kill(owner, SIGKILL);
  ::waitpid(owner, nullptr, 0);
  for (const char* name : {"orphan", "session", "program"}) {
    for (int i = 0; i < 1000 && !is_gone(folder / name); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    CHECK(is_gone(folder / name));
  }
}

}  // namespace roll
