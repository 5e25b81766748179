#include "environment/remote_peer.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <fstream>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/env.h"
#include "base/error.h"
#include "checkpoint/temporary_folder.h"
#include "environment/config.h"
#include "environment/environment.h"
#include "environment/program_server.h"

namespace roll {
namespace {

constexpr const char* kPlays = R"(while read q; do case "$q" in *reset*) echo '{"observation":"o"}';;
  *step*) echo '{"observation":"p","reward":0.5,"done":true}';; *) echo '{}';; esac; done)";
constexpr const char* kUntilStep = R"(read q; echo '{"observation":"o"}'; read q; )";

/// As `roll serve-environment` has it, on a thread.
class Served {
 public:
  explicit Served(const std::string& script, uint32_t port = 0, int64_t most = 4, const char* secret = "a secret") {
    set_env("ROLL_JOB_SECRET", secret);
    Endpoint at = loopback();
    at.port = port;
    server_.emplace(BoxedProgram{{"sh", "-c", script}}, false, at, environment_secret(""), most);
    thread_ = std::thread([this] { server_->run([this] { return is_over_.load(); }); });
    set_env("ROLL_JOB_SECRET", "a secret");
  }
  ~Served() {
    is_over_ = true;
    thread_.join();
  }
  uint32_t port() const { return server_->endpoint().port; }
  std::string address() const { return to_string(server_->endpoint()); }

 private:
  std::optional<ProgramServer> server_;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

std::unique_ptr<Environment> environment_at(const std::string& address, double timeout_s = 20) {
  return Chosen<EnvironmentType>("command")->make({.addresses = {address}, .timeout_s = timeout_s}, "env_config.");
}

bool runs(pid_t process) {
  std::ifstream stat(fmt::format("/proc/{}/stat", process));
  std::string line;
  return std::getline(stat, line) && line.find(") Z ") == std::string::npos;
}

/// How a level goes: the reward, or why there is none.
std::string outcome(Environment& environment) {
  try {
    environment.reset(1);
    const Reaction reaction = environment.step("go");
    environment.close();
    return fmt::format("{}", reaction.reward);
  } catch (const EnvironmentFailed& failure) {
    return fmt::format("{}: {}", name_of(failure.fault), failure.what());
  }
}

}  // namespace

TEST_CASE("a program on another host plays as one here, and each connection has its own", "[environment]") {
  const Served served(kPlays);
  const auto first = environment_at(served.address()), second = environment_at(served.address());
  CHECK(first->reset(1).observation == "o");
  CHECK(outcome(*second) == "0.5");
  CHECK(first->step("go").is_done);
  first->close();
  CHECK(outcome(*first) == "0.5");
}

TEST_CASE("what fails on another host is of the same kind as here", "[environment]") {
  struct {
    const char* script;
    const char* outcome;
  } const ways[] = {
      {"echo no >&2; exit 3", "crash: at {} ended (exit status 3) instead of answering; it said: no\n"},
      {"sleep 9", "timeout: at {} no answer within 0.3 s"},
      {"echo hello", R"(garbage: answered "hello": no JSON object)"},
      {R"(printf '{"observation":"\377","reward":0,"done":true}\n')", "garbage: answered "},
      {"head -c 2000000 /dev/zero | tr '\\0' x", "flood: at {} answered more than 1048576 bytes without a newline"},
      {"printf 'a\\nb\\n'; sleep 9", R"(protocol: at {} printed "b" without being asked)"},
      {"echo '{}'", "protocol: answered "},
  };
  for (const auto& [script, expected] : ways) {
    const Served served(std::string(kUntilStep) + script);
    const auto environment = environment_at(served.address(), std::string(expected).starts_with("timeout") ? 0.3 : 20);
    CHECK_THAT(outcome(*environment), Catch::StartsWith(fmt::format(fmt::runtime(expected), served.address())));
  }
}

TEST_CASE("a host that is gone is a crash, and is asked again at the next level", "[environment]") {
  const test::TemporaryFolder folder;
  const std::string mark = (folder / "pid").string();
  auto served = std::make_unique<Served>("echo $$ > " + mark + "; " + kPlays);
  const std::string address = served->address();
  const uint32_t port = served->port();
  const auto environment = environment_at(address);
  CHECK(outcome(*environment) == "0.5");
  pid_t program = 0;
  std::ifstream(mark) >> program;
  CHECK(runs(program));
  served.reset();
  CHECK_FALSE(runs(program));
  CHECK_THAT(outcome(*environment), Catch::StartsWith("crash: at " + address + " is gone: "));
  CHECK_THAT(outcome(*environment),
             Catch::StartsWith("crash: at " + address + " is ") && Catch::Contains("Connection refused"));
  served = std::make_unique<Served>(kPlays, port);
  CHECK(outcome(*environment) == "0.5");
}

TEST_CASE("nobody gets in without the secret, and who talks otherwise disturbs nobody", "[environment]") {
  const Served other(kPlays, 0, 4, "another secret");
  CHECK(outcome(*environment_at(other.address())) ==
        "crash: at " + other.address() + " is gone: the connection was closed; is ROLL_JOB_SECRET the same there?");
  const Served served(kPlays);
  const Endpoint at{loopback().address, served.port()};
  const std::string noise(1000, 'x');
  const Socket silent = connect_to(at), loud = connect_to(at);
  loud.send_some(std::as_bytes(std::span(noise)));
  CHECK(outcome(*environment_at(served.address())) == "0.5");
}

TEST_CASE("programs on a host are as many as it allows, and free once nobody is connected", "[environment]") {
  const Served served(kPlays, 0, 1);
  auto first = environment_at(served.address());
  const auto second = environment_at(served.address());
  CHECK(outcome(*first) == "0.5");
  CHECK(outcome(*second) == "crash: at " + served.address() + " has no program free: all 1 are in use (--programs)");
  first.reset();
  const Stopwatch watch;
  while (outcome(*second) != "0.5" && watch.seconds() < 60) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(outcome(*second) == "0.5");
}

TEST_CASE("addresses that are none, programs here and there, and a secret that is not set are said", "[environment]") {
  set_env("ROLL_JOB_SECRET", "a secret");
  for (const char* address : {"", "host", ":7000", "host:", "host:0", "host:65536", "host:7x"})
    CHECK_THROWS_WITH(environment_at(address), fmt::format("env_config.addresses = {}: must be host:port, as `roll "
                                                           "serve-environment` prints it",
                                                           address));
  const auto check_at = [](const char* address) {
    Chosen<EnvironmentType>("command")->check({.addresses = {address}}, "env_config.");
  };
  CHECK_NOTHROW(check_at("127.0.0.1:7000"));
  CHECK_THROWS_WITH(check_at("no.such.host.invalid:7000"),
                    Catch::StartsWith("env_config.addresses = no.such.host.invalid:7000: host no.such.host.invalid: "));
  CHECK_THAT(outcome(*environment_at("no.such.host.invalid:7000")), Catch::StartsWith("crash: at no.such.host"));
  CHECK_THROWS_WITH(
      Chosen<EnvironmentType>("command")->make({.command = {"sh"}, .addresses = {"127.0.0.1:7000"}}, "e."),
      "e.addresses: e.command is given too; the program runs here or there, remove one");
  set_env("ROLL_JOB_SECRET", "");
  CHECK_THROWS_WITH(check_at("127.0.0.1:7000"),
                    Catch::StartsWith("env_config.addresses: ROLL_JOB_SECRET is not set; give the run and each host"));
}

}  // namespace roll
