#include "collect/environment_pool.h"

#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "checkpoint/temporary_folder.h"

namespace roll {
namespace {

constexpr double kLongest_s = 20;

EnvironmentConfig program(const std::string& script, int64_t count, double timeout_s = 10) {
  EnvironmentConfig config;
  config.env_type = "command";
  config.env_config = {.command = {"sh", "-c", script}, .timeout_s = timeout_s, .world_size = count};
  return config;
}

/// One that writes down what it is asked, and takes each step after `before_step`.
std::string playing(const std::string& before_step, const std::string& log = "/dev/null") {
  return "while read q; do case \"$q\" in *reset*) echo reset >> " + log + R"(; echo '{"observation":"o"}';;)" +
         "*step*) echo step >> " + log + "; " + before_step +
         R"(; echo '{"observation":"p","reward":1,"done":false}';;)" + "*) echo close >> " + log +
         "; echo '{}';; esac; done";
}

TurnAnswer answer(EnvironmentPool& pool, int64_t trajectory) {
  const Stopwatch watch;
  while (watch.seconds() < kLongest_s) {
    if (auto answer = pool.take(trajectory)) return std::move(*answer);
    pool.wait(0.01);
  }
  throw std::runtime_error("no answer");
}

std::vector<std::string> lines(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

template <class F>
void wait_until(const F& is_so) {
  const Stopwatch watch;
  while (!is_so() && watch.seconds() < kLongest_s) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  REQUIRE(is_so());
}

int64_t num_threads() {
  return std::ssize(list_folder("/proc/self/task"));
}

/// One of tests/environment_plugin that waits at `at` for the gate.
EnvironmentConfig plugin(const std::string& at, const std::string& gate, const std::string& log, int64_t num_threads) {
  EnvironmentConfig config;
  config.env_type = "plugin";
  config.env_config = {.library = ROLL_TEST_ENVIRONMENTS,
                       .name = "waiting",
                       .world_size = num_threads,
                       .config = {{"at", at}, {"gate", gate}, {"log", log}}};
  return config;
}

}  // namespace

TEST_CASE("one thread has all programs, which wait at once, beside others that answer", "[environment]") {
  const char* count = std::getenv("ROLL_PROGRAMS");  // 1000 take 12 s
  const int64_t num_programs = count ? std::atoll(count) : 200;
  const test::TemporaryFolder folder;
  const std::string gate = (folder / "gate").string(), log = (folder / "log").string();
  REQUIRE(mkfifo(gate.c_str(), 0600) == 0);
  const EnvironmentsByTag environments{{"Slow", program(playing("read x < " + gate, log), num_programs, 600)},
                                       {"Quick", program(playing(":"), 1)}};
  const int64_t before = num_threads();
  EnvironmentPool pool(environments);
  std::vector<int64_t> slow;
  for (int64_t i = 0; i < num_programs; ++i) {
    slow.push_back(pool.begin("Slow", i, "o"));
    pool.step(slow.back(), "wait");
  }
  wait_until([&] { return std::ranges::count(lines(log), "step") == num_programs; });
  CHECK(num_threads() == before + 1);
  const int64_t quick = pool.begin("Quick", 1, "o");
  pool.step(quick, "go");
  CHECK(answer(pool, quick).reaction.observation == "p");
  for (const int64_t trajectory : slow) CHECK_FALSE(pool.take(trajectory));
  { const std::ofstream opened(gate); }
  for (const int64_t trajectory : slow) {
    const TurnAnswer heard = answer(pool, trajectory);
    CHECK_FALSE(heard.fault);
    CHECK(heard.reaction.reward == 1);
    pool.end(trajectory);
  }
  pool.end(quick);
  CHECK_FALSE(pool.is_busy());
  wait_until([&] { return std::ranges::count(lines(log), "close") == num_programs; });
}

TEST_CASE("a program plays a level after the other, each to its end, and trajectories beyond it wait",
          "[environment]") {
  const test::TemporaryFolder folder;
  const std::string log = (folder / "log").string(), gate = (folder / "gate").string();
  REQUIRE(mkfifo(gate.c_str(), 0600) == 0);
  const EnvironmentsByTag environments{{"One", program(playing("read x < " + gate, log), 1)}};
  EnvironmentPool pool(environments);
  const int64_t first = pool.begin("One", 1, "o"), never = pool.begin("One", 2, "o"), last = pool.begin("One", 3, "o");
  pool.step(last, "go");
  pool.step(first, "go");
  pool.end(never);
  wait_until([&] { return lines(log).size() == 2; });
  CHECK_FALSE(pool.take(last));
  pool.end(first);  // while its step is under way, whose answer nobody wants
  { const std::ofstream opened(gate); }
  wait_until([&] { return lines(log).size() == 5; });
  { const std::ofstream opened(gate); }
  CHECK(answer(pool, last).reaction.observation == "p");
  CHECK(lines(log) == std::vector<std::string>{"reset", "step", "close", "reset", "step"});
}

TEST_CASE("what fails is told to the step, and the program is started again for the next level", "[environment]") {
  const test::TemporaryFolder folder;
  const std::string mark = (folder / "mark").string();
  const std::string fails_once = "[ -e " + mark + " ] || { touch " + mark + "; read q; echo 5; }; " + playing(":");
  const EnvironmentsByTag environments{
      {"Once", program(fails_once, 1)}, {"Other", program(playing(":"), 1)}, {"Ends", program(playing("exit 3"), 1)}};
  EnvironmentPool pool(environments);
  const int64_t first = pool.begin("Once", 1, "o"), second = pool.begin("Once", 2, "o");
  for (const int64_t trajectory : {first, second}) pool.step(trajectory, "go");
  const TurnAnswer failed = answer(pool, first);
  CHECK(failed.fault == EnvironmentFault::kGarbage);
  CHECK(failed.why == R"(answered "5": this is not a JSON object)");
  pool.end(first);
  CHECK(answer(pool, second).reaction.observation == "p");
  pool.step(second, "again");  // for which its program waits
  CHECK(answer(pool, second).reaction.observation == "p");
  const int64_t other = pool.begin("Other", 1, "another beginning");
  pool.step(other, "go");
  CHECK(answer(pool, other).fault == EnvironmentFault::kProtocol);
  const int64_t ends = pool.begin("Ends", 1, "o");
  pool.step(ends, "go");
  CHECK(answer(pool, ends).why == "ended (exit status 3) instead of answering");
}

TEST_CASE("whatever takes a plug-in its time is done by its threads, and nobody who asks waits", "[environment]") {
  for (const std::string at : {"reset", "step", "gone"}) {
    INFO(at);
    const test::TemporaryFolder folder;
    const std::string log = (folder / "log").string(), gate = (folder / "gate").string();
    const EnvironmentsByTag environments{{"Slow", plugin(at, gate, log, 1)}, {"Quick", plugin("", "", "/dev/null", 1)}};
    EnvironmentPool pool(environments);
    const int64_t slow = pool.begin("Slow", 1, "o");
    pool.step(slow, at == "gone" ? "throw" : "go");
    wait_until([&] { return std::ranges::count(lines(log), at) == 1; });
    const int64_t next = pool.begin("Slow", 2, "o"), quick = pool.begin("Quick", 1, "o");
    for (const int64_t trajectory : {next, quick}) pool.step(trajectory, "go");
    CHECK(answer(pool, quick).reaction.observation == "p");
    CHECK_FALSE(pool.take(next));
    pool.end(slow);  // while it is at work, whose answer nobody wants
    { const std::ofstream opened(gate); }
    CHECK(answer(pool, next).reaction.observation == "p");
  }
}

TEST_CASE("a plug-in's object plays a level after the other, and one that failed plays no more", "[environment]") {
  const test::TemporaryFolder folder;
  const std::string log = (folder / "log").string();
  const EnvironmentsByTag environments{{"One", plugin("", "", log, 1)}};
  EnvironmentPool pool(environments);
  const auto play = [&](const std::string& said, const std::string& observation = "o") {
    const int64_t trajectory = pool.begin("One", 1, observation);
    pool.step(trajectory, said);
    const TurnAnswer first = answer(pool, trajectory);
    pool.step(trajectory, "go");
    const TurnAnswer second = answer(pool, trajectory);
    CHECK(first.fault == second.fault);
    pool.end(trajectory);
    return first;
  };
  CHECK(play("go").reaction.observation == "p");
  CHECK(play("throw").fault == EnvironmentFault::kCrash);
  CHECK(play("go", "another beginning").fault == EnvironmentFault::kProtocol);
  wait_until([&] { return lines(log).size() == 11; });
  CHECK(lines(log) == std::vector<std::string>{"made", "reset", "step", "step", "close", "reset", "step", "gone",
                                               "made", "reset", "gone"});
  const int64_t never = pool.begin("One", 1, "o");
  pool.end(never);
  CHECK_FALSE(pool.is_busy());
}

TEST_CASE("programs that hang hold up neither others nor the end", "[environment]") {
  const test::TemporaryFolder folder;
  const std::string started = (folder / "pid").string();
  const EnvironmentsByTag environments{
      {"Hangs", program("read q; sleep 60", 1, 0.3)},
      {"Endless", program("read q; sleep 60 & echo $! > " + started + "; wait", 1, 600)},
      {"Quick", program(playing(":"), 1)}};
  const Stopwatch watch;
  {
    EnvironmentPool pool(environments);
    const int64_t hangs = pool.begin("Hangs", 1, "o"), quick = pool.begin("Quick", 1, "o"),
                  endless = pool.begin("Endless", 1, "o");
    for (const int64_t trajectory : {hangs, quick, endless}) pool.step(trajectory, "go");
    CHECK(answer(pool, quick).reaction.observation == "p");
    CHECK(answer(pool, hangs).fault == EnvironmentFault::kTimeout);
    CHECK_FALSE(pool.take(endless));
    wait_until([&] { return !lines(started).empty(); });
  }
  const auto stat = lines("/proc/" + lines(started).front() + "/stat");
  CHECK((stat.empty() || stat.front().find(") Z ") != std::string::npos));
  CHECK(watch.seconds() < kLongest_s);
}

}  // namespace roll
