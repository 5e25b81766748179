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

constexpr const char* kHostsPrograms = "Run environments on this host for a training on other hosts";
constexpr const char* kHowToHost =
    R"(Each of the training's env_config.world_size workers connects and gets its own program, which is started on this host,
speaks the protocol of configs/agentic.md, and is ended when the training disconnects:
  here        ROLL_JOB_SECRET=... roll serve-environment --host 10.0.0.2 --port 7000 -- python3 my_environment.py
  training    ROLL_JOB_SECRET=... roll train ...   with   env_type: command, env_config: {addresses: ["10.0.0.2:7000"], world_size: 64}
A client that does not know ROLL_JOB_SECRET is refused; later messages are neither signed nor encrypted. Ctrl-C ends the
server.)";

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
  sub->add_option("--host", flags->host, "address to listen on")->capture_default_str();
  sub->add_option("--port", flags->port, "0: any free port")->check(CLI::Range(0, 65535))->capture_default_str();
  sub->add_option("--programs", flags->programs, "programs that may run at once")
      ->check(CLI::Range(int64_t{1}, int64_t{65536}))
      ->capture_default_str();
  sub->add_flag("--sandbox", flags->is_boxed,
                "run the programs without network, with only the files that the command names (SECURITY.md)");
  sub->add_option("--memory-mb", flags->program.memory_mb,
                  "MiB of memory of a sandboxed program and all processes that it starts")
      ->check(CLI::Range(int64_t{64}, int64_t{1} << 20))
      ->capture_default_str();
  sub->add_option("command", flags->program.command, "the program and its arguments, after --")->required();
  sub->callback([flags] { serve_environment(*flags); });
}

}  // namespace roll
