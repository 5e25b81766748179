// The rules of environments that are programs: what is asked, and how an answer is read. Nobody waits for one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "environment/config.h"
#include "environment/environment.h"
#include "environment/line_peer.h"

namespace roll {

/// To reset(), step() and close().
using CommandAnswer = std::variant<Opening, Reaction, std::monostate>;

class CommandPlayer {
 public:
  /// `where` stands before a key in errors. `number`: of those that share the work. `args` must outlive it. UserError:
  /// an address that is none.
  explicit CommandPlayer(const EnvironmentArgs& args, const std::string& where, int64_t number = 0);

  // Questions, one at a time.

  void reset(uint64_t seed);
  void step(const std::string& message);
  void close();

  /// The answer, once it is there: to be asked for whenever one of `polls` is ready or next_look() has come.
  /// EnvironmentFailed: there will be none; whoever answered is gone, and is started again at the next reset.
  std::optional<CommandAnswer> go_on();
  void add_polls(std::vector<pollfd>& polls) const { peer_->add_polls(polls); }
  LinePeer::Clock::time_point next_look() const { return peer_->next_look(); }

 private:
  enum class Asked { kReset, kStep, kClose };
  void ask(Asked asked, const Json& question);

  const EnvironmentArgs& args_;
  std::unique_ptr<LinePeer> peer_;
  Asked asked_ = Asked::kReset;
  int64_t id_ = 0;
};

/// That all of this kind take.
int64_t num_descriptors(const EnvironmentArgs& args);

}  // namespace roll
