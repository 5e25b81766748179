// Protocol of the user's environments (command.h), without blocking: writes questions and reads answers. For
// ProgramDriver and the environments of type command and plugin.
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

/// Answers to reset(), step() and close().
using CommandAnswer = std::variant<Opening, Reaction, std::monostate>;

class CommandPlayer {
 public:
  /// `where`: prefix of keys in errors. `args` must outlive it. UserError: tool_pattern does not compile or has not two
  /// groups.
  CommandPlayer(const EnvironmentArgs& args, const std::string& where, std::unique_ptr<LinePeer> peer);

  /// Returns the tools that the level declares, if the model is shown them; see Environment::tools().
  Json tools() const { return args_.show_tools ? tools_ : Json(); }

  // Ask a question; one at a time.

  void reset(uint64_t seed);
  void step(const std::string& message);
  void close();

  /// Returns the answer once it is there. Call it when a descriptor of add_polls() is ready or next_look() has come.
  /// EnvironmentFailed: there is no answer; the program is stopped, and starts again at the next reset().
  std::optional<CommandAnswer> advance();
  void add_polls(std::vector<pollfd>& polls) const { peer_->add_polls(polls); }
  LinePeer::Clock::time_point next_look() const {
    return has_only_errors_ ? LinePeer::Clock::now() : peer_->next_look();
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

/// Returns the program that the keys name.
BoxedProgram make_boxed_program(const EnvironmentArgs& args);

/// Creates a local program or a connection to a remote one. `number` selects the address, in turn. UserError: an
/// address is not host:port.
std::unique_ptr<LinePeer> make_peer(const EnvironmentArgs& args, const std::string& where, int64_t number = 0);

/// Returns how many descriptors all programs of this kind take.
int64_t num_descriptors(const EnvironmentArgs& args);

}  // namespace roll
