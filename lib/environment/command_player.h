// Writes questions and reads answers in the protocol of the user's environments (command.h), without blocking. For
// ProgramDriver and the environments of type command and plugin. A peer is the program, local or remote, or the plug-in
// object that answers (line_peer.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "environment/config.h"
#include "environment/environment.h"
#include "environment/line_peer.h"
#include "environment/tool_calls.h"
#include "sandbox/boxed_program.h"

namespace roll {

/// Answer to reset(), step() or close(), in this order.
using CommandAnswer = std::variant<Opening, Reaction, std::monostate>;

/// Plays one level at a time with one peer.
class CommandPlayer {
 public:
  /// `args` must outlive the player. `where`: prefix of configuration keys in error messages. Throws UserError if
  /// args.tool_pattern does not compile or does not have two groups.
  CommandPlayer(const EnvironmentArgs& args, const std::string& where, std::unique_ptr<LinePeer> peer);

  /// Returns the schemas of the tools that the current level declares; null if it has none or show_tools is false.
  Json tools() const { return args_.show_tools ? tools_ : Json(); }

  // These functions send a question and return at once. Each must be answered (advance()) before the next.

  /// Begins the level of `seed`; starts the program if it is not running.
  void reset(uint64_t seed);
  /// Sends the model's message, with the tool calls in it.
  void step(const std::string& message);
  /// Ends a level that is not over.
  void close();

  /// Returns the answer to the question; nullopt if it has not come yet. Call it again when a descriptor of add_polls()
  /// is ready, or at next_check_time(). Throws EnvironmentFailed if there is no valid answer in time: the program is
  /// then stopped, and starts again at the next reset().
  std::optional<CommandAnswer> advance();
  /// Appends the descriptors to wait for.
  void add_polls(std::vector<pollfd>& polls) const { peer_->add_polls(polls); }
  LinePeer::Clock::time_point next_check_time() const {
    return has_only_errors_ ? LinePeer::Clock::now() : peer_->next_check_time();
  }

 private:
  enum class Method { kReset, kStep, kClose };
  void ask(Method method, const Json& question);
  CommandAnswer read(const std::string& line);
  void add_errors(Reaction& reaction) const;

  const EnvironmentArgs& args_;
  ToolCallReader calls_;
  std::unique_ptr<LinePeer> peer_;
  Json tools_ = nullptr;             // tools of the level
  std::vector<std::string> errors_;  // error of each call in the message; empty: valid, so the program is asked
  bool has_only_errors_ = false;     // the answer is errors only; nobody is asked
  Method method_ = Method::kReset;
  int64_t id_ = 0;
};

/// Returns the command and memory limit of the program that the configuration keys name (`command` or `python_class`).
BoxedProgram make_boxed_program(const EnvironmentArgs& args);

/// Creates a peer: a local program, or, if there are `addresses`, a program on another host. Both start at the first
/// question. `number`: index of the program; program i uses address i modulo the number of addresses. Throws UserError
/// if the address is not host:port.
std::unique_ptr<LinePeer> make_peer(const EnvironmentArgs& args, const std::string& where, int64_t number = 0);

/// Returns how many file descriptors all `world_size` programs take together.
int64_t num_descriptors(const EnvironmentArgs& args);

}  // namespace roll
