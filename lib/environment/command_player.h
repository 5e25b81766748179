// Writes questions and reads answers in the protocol of the user's environments (command.h), without blocking. For
// collect/program_driver.h and the environments of types `command`, `python` and `plugin`. A peer (line_peer.h)
// answers: a local program, a program on another host, or a plug-in object.
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

/// Answer to a question: Opening to reset(), Reaction to step(), std::monostate to close().
using CommandAnswer = std::variant<Opening, Reaction, std::monostate>;

/// Plays one level at a time with one peer. Not thread-safe.
class CommandPlayer {
 public:
  /// `args` must outlive the player. `where`: prefix of configuration keys in error messages. Throws UserError if
  /// args.tool_pattern does not compile or does not have two groups.
  CommandPlayer(const EnvironmentArgs& args, const std::string& where, std::unique_ptr<LinePeer> peer);

  /// Returns the schemas of the tools that the current level declares; null if it has none or show_tools is false.
  Json tools() const { return args_.show_tools ? tools_ : Json(); }

  // These functions send a question and return at once. Call advance() until it returns the answer, before the next
  // question.

  /// Begins the level of `seed`; starts the peer if it is not running.
  void reset(uint64_t seed);
  /// Sends the model's message, with the tool calls in it.
  void step(const std::string& message);
  /// Tells the peer that the level is not continued.
  void close();

  /// Returns the answer to the question; nullopt if it has not come yet. Call it again when a descriptor of add_polls()
  /// is ready, or at next_check_time(). Throws EnvironmentFailed if there is no valid answer in time: the peer is then
  /// stopped, and only reset() may follow, which starts it again.
  std::optional<CommandAnswer> advance();
  /// Appends the descriptors to wait for.
  void add_polls(std::vector<pollfd>& polls) const { peer_->add_polls(polls); }
  /// Returns the time at which advance() must be called even if no descriptor is ready.
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
  std::vector<std::string> errors_;  // error of each call in the message; "": a valid call
  bool has_only_errors_ = false;     // all calls are invalid: the answer is errors_, and the peer is not asked
  Method method_ = Method::kReset;
  int64_t id_ = 0;
};

/// Returns the command and memory limit of the program that the configuration keys name (`command` or `python_class`).
BoxedProgram make_boxed_program(const EnvironmentArgs& args);

/// Creates a peer: a local program, or, if args.addresses is not empty, a program on another host. It starts at the
/// first question. `number`: index of the program among this rank's; program i uses address i modulo the number of
/// addresses. Throws UserError if the address is not host:port.
std::unique_ptr<LinePeer> make_peer(const EnvironmentArgs& args, const std::string& where, int64_t number = 0);

/// Returns the number of file descriptors that args.world_size programs take together.
int64_t num_descriptors(const EnvironmentArgs& args);

}  // namespace roll
