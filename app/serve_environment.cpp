// roll serve-environment: runs environment programs on this host for a training on other hosts.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "app/commands.h"
#include "base/error.h"
#include "environment/program_server.h"
#include "environment/remote_peer.h"
#include "process/stop.h"

namespace roll {

namespace {

constexpr const char* kHostsPrograms = "Run environments on this host for a training elsewhere";
constexpr const char* kHowToHost =
    R"(Each of the training's env_config.world_size asks for a program of its own, which is started here, asked as configs/agentic.md
says, and ended when the training lets go of it:
  here        ROLL_JOB_SECRET=... roll serve-environment --host 10.0.0.2 --port 7000 -- python3 my_environment.py
  training    ROLL_JOB_SECRET=... roll train ...   with   env_type: command, env_config: {addresses: ["10.0.0.2:7000"], world_size: 64}
Who does not know ROLL_JOB_SECRET is not let in; what is said afterwards is neither signed nor hidden. Ctrl-C ends it.)";

struct EnvironmentServerFlags {
  std::string host = "127.0.0.1";
  int port = 0;
  int64_t programs = 1024;
  bool is_boxed = false;
  BoxedProgram program;
};

void serve_environment(const EnvironmentServerFlags& flags) {
  const JobSecret secret = environment_secret("serve-environment");
  catch_stop_signals();
  ProgramServer server(flags.program, flags.is_boxed, resolve_endpoint(flags.host, flags.port), secret, flags.programs);
  fmt::print("{}:{}\n", flags.host, server.endpoint().port);
  std::fflush(stdout);  // a program may wait for this line
  server.run([] { return requested_stop().has_value(); });
  throw_if_stopped();
}

}  // namespace

void add_serve_environment(CLI::App& app) {
  auto* sub = app.add_subcommand("serve-environment", kHostsPrograms);
  auto flags = std::make_shared<EnvironmentServerFlags>();
  sub->footer(kHowToHost);
  sub->add_option("--host", flags->host, "the address that listens")->capture_default_str();
  sub->add_option("--port", flags->port, "0: any free port")->check(CLI::Range(0, 65535))->capture_default_str();
  sub->add_option("--programs", flags->programs, "how many may run at once")
      ->check(CLI::Range(int64_t{1}, int64_t{65536}))
      ->capture_default_str();
  sub->add_flag("--sandbox", flags->is_boxed,
                "no network and no files for them but those that the command names (SECURITY.md)");
  sub->add_option("--memory-mb", flags->program.memory_mb,
                  "MiB of memory of a program in a sandbox, with all that it starts")
      ->check(CLI::Range(int64_t{64}, int64_t{1} << 20))
      ->capture_default_str();
  sub->add_option("command", flags->program.command, "the program and its arguments, behind --")->required();
  sub->callback([flags] { serve_environment(*flags); });
}

}  // namespace roll
