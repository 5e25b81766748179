#include "base/child_process.h"

#include <signal.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <thread>

#include "base/error.h"

namespace roll {

using Outcome = ChildProcess::Outcome;

TEST_CASE("a child answers line by line", "[base]") {
  ChildProcess child({"cat"});
  std::string reply;
  for (const std::string line : {"one", "", "three words here"}) {
    REQUIRE(child.ask(line, 5, reply) == Outcome::kDone);
    CHECK(reply == line);
  }
}

TEST_CASE("a child takes and gives more than a pipe holds", "[base]") {
  const std::string big(3'000'000, 'x');
  ChildProcess lines({"cat"});
  std::string reply;
  REQUIRE(lines.ask(big, 20, reply) == Outcome::kDone);
  CHECK(reply == big);
  ChildProcess whole({"cat"});
  std::string output;
  REQUIRE(whole.finish(big, 20, output) == Outcome::kDone);
  CHECK(output == big);
  CHECK(whole.end(5) == "exit status 0");
}

TEST_CASE("a child that is too slow is a time-out, and killing it kills what it started", "[base]") {
  ChildProcess child({"sh", "-c", "sleep 100 & echo $!; wait"});
  std::string grandchild;
  REQUIRE(child.ask("", 5, grandchild) == Outcome::kDone);
  std::string reply;
  CHECK(child.ask("more", 0.2, reply) == Outcome::kTimeout);
  child.kill();
  CHECK(child.exit_code() == -SIGKILL);
  const pid_t pid = std::stoi(grandchild);
  bool gone = false;  // its new parent reaps it in its own time
  for (int i = 0; i < 200 && !gone; ++i) {
    gone = ::kill(pid, 0) != 0;
    std::ifstream stat("/proc/" + grandchild + "/stat");
    std::string line;
    gone = gone || (std::getline(stat, line) && line.find(") Z ") != std::string::npos);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  CHECK(gone);
}

TEST_CASE("a child that ends tells its status and its last words", "[base]") {
  ChildProcess child({"sh", "-c", "echo oh no >&2; exit 7"});
  std::string reply;
  CHECK(child.ask("x", 5, reply) == Outcome::kEnded);
  CHECK(child.end(5) == "exit status 7");
  CHECK(child.stderr_tail() == "oh no\n");
  CHECK(child.ask("x", 5, reply) != Outcome::kDone);
}

TEST_CASE("much standard error neither blocks the child nor fills our memory", "[base]") {
  ChildProcess child({"sh", "-c", "yes complaint | head -c 2000000 >&2; read x; echo done"});
  std::string reply;
  REQUIRE(child.ask("go", 20, reply) == Outcome::kDone);
  CHECK(reply == "done");
  CHECK(child.stderr_tail().size() == 4096);
}

TEST_CASE("a program that is not there is the user's error", "[base]") {
  CHECK_THROWS_AS(ChildProcess({"no-such-program-here"}), UserError);
  CHECK_THROWS_AS(ChildProcess(std::vector<std::string>{}), UserError);
}

TEST_CASE("a destroyed child leaves no zombie", "[base]") {
  pid_t pid = 0;
  { pid = ChildProcess({"sleep", "100"}).pid(); }
  CHECK(::kill(pid, 0) != 0);
}

}  // namespace roll
