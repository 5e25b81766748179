// The rules of environments of the user's: what is asked, and how an answer is read. Nobody waits for one.
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

/// To reset(), step() and close().
using CommandAnswer = std::variant<Opening, Reaction, std::monostate>;

class CommandPlayer {
 public:
  /// `where` stands before a key in errors. `args` must outlive it. UserError: a tool_pattern that does not compile.
  CommandPlayer(const EnvironmentArgs& args, const std::string& where, std::unique_ptr<LinePeer> peer);

  /// Those that the level declares and the model is shown, as Environment::tools() has them.
  Json tools() const { return args_.show_tools ? tools_ : Json(); }

  // Questions, one at a time.

  void reset(uint64_t seed);
  void step(const std::string& message);
  void close();

  /// The answer, once it is there: to be asked for whenever one of `polls` is ready or next_look() has come.
  /// EnvironmentFailed: there will be none; whoever answered is gone, and is started again at the next reset.
  std::optional<CommandAnswer> go_on();
  void add_polls(std::vector<pollfd>& polls) const { peer_->add_polls(polls); }
  LinePeer::Clock::time_point next_look() const { return unasked_ ? LinePeer::Clock::now() : peer_->next_look(); }

 private:
  enum class Asked { kReset, kStep, kClose };
  void ask(Asked asked, const Json& question);
  CommandAnswer read(const std::string& line);
  void add_errors(Reaction& reaction) const;

  const EnvironmentArgs& args_;
  ToolCallReader calls_;
  std::unique_ptr<LinePeer> peer_;
  Json tools_ = nullptr;             // of the level
  std::vector<std::string> errors_;  // of a message's calls, why each is not asked; empty: it is
  bool unasked_ = false;             // the answer is there: errors alone
  Asked asked_ = Asked::kReset;
  int64_t id_ = 0;
};

/// That its keys name.
BoxedProgram program_of(const EnvironmentArgs& args);

/// A program, here or at an address; `number`: of those that share the work. UserError: an address that is none.
std::unique_ptr<LinePeer> make_peer(const EnvironmentArgs& args, const std::string& where, int64_t number = 0);

/// That all of this kind take.
int64_t num_descriptors(const EnvironmentArgs& args);

}  // namespace roll
