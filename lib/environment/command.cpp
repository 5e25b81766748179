#include "environment/command.h"

#include "base/error.h"
#include "environment/command_player.h"
#include "environment/config.h"
#include "environment/environment.h"
#include "environment/remote_peer.h"
#include "process/child_process.h"
#include "process/descriptor_limit.h"
#include "sandbox/boxed_program.h"

namespace roll {

namespace {

/// Environment of type `command` that blocks until its program answers.
class CommandEnvironment : public Environment {
 public:
  CommandEnvironment(const EnvironmentArgs& args, const std::string& where)
      : args_(args), player_(args_, where, make_peer(args_, where)) {}

  Opening reset(uint64_t seed) override {
    player_.reset(seed);
    return std::get<Opening>(answer());
  }
  Reaction step(const std::string& message) override {
    player_.step(message);
    return std::get<Reaction>(answer());
  }
  Json tools() const override { return player_.tools(); }
  void close() override {
    player_.close();
    answer();
  }

 private:
  CommandAnswer answer() {
    std::vector<pollfd> polls;
    while (true) {
      if (auto answer = player_.advance()) return std::move(*answer);
      polls.clear();
      player_.add_polls(polls);
      poll_until(player_.next_check_time(), polls);
    }
  }

  const EnvironmentArgs args_;
  CommandPlayer player_;
};

const char* program_key(const EnvironmentArgs& args) {
  return args.python_class ? "python" : "command";
}

void check_boxed(const EnvironmentArgs& args, const std::string& where) {
  std::optional<std::string> why;
  try {
    why = why_not_boxed(make_boxed_program(args));
  } catch (const UserError& error) {  // the sandbox cannot show this Python
    throw user_error("{}{} = {}; use another Python", where, program_key(args), error.what());
  }
  if (why) throw user_error("{}sandbox = true: {}", where, *why);
}

}  // namespace

void check_command(const EnvironmentArgs& args, const std::string& where) {
  try {
    if (args.addresses.empty()) check_executable(make_boxed_program(args).command.front());
  } catch (const UserError& error) {
    throw user_error("{}{} = {}; give a program that exists and can be executed", where, program_key(args),
                     error.what());
  }
  if (args.sandbox && args.addresses.empty()) check_boxed(args, where);
  for (const std::string& address : args.addresses) check_remote(address, where + "addresses");
  require_descriptors(num_descriptors(args), fmt::format("{}world_size = {}", where, args.world_size));
}

std::unique_ptr<Environment> make_command_environment(const EnvironmentArgs& args, const std::string& where) {
  const bool has_program = args.python_class || (!args.command.empty() && !args.command[0].empty());
  if (has_program && !args.addresses.empty())
    throw user_error("{}addresses: {}command is given too; remove one of the two", where, where);
  if (!has_program && args.addresses.empty())
    throw user_error("{}command: missing; give the program and its arguments as a list, or addresses", where);
  return std::make_unique<CommandEnvironment>(args, where);
}

}  // namespace roll
